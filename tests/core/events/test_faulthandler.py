"""faulthandler's dumps."""

from __future__ import annotations

from tests.core.events.traces import left_texts, only, read

DUMP = """\
Fatal Python error: Segmentation fault

Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/usr/lib/python3.11/threading.py", line 1000 in _bootstrap

Current thread 0x00007f0000000002 [python] (most recent call first):
  File "x.py", line ??? in <listcomp>
  File "x.py", line 9 in <module>

Extension modules: numpy.core._multiarray_umath, torch._C (total: 2)
"""


def test_crashed_thread_outermost_first() -> None:
    trace = only(DUMP)
    link = trace.links[0]
    assert (trace.style, link.exception, link.message) == (
        "faulthandler",
        None,
        "Fatal Python error: Segmentation fault",
    )
    assert [(frame.function, frame.line) for frame in link.frames] == [("<module>", 9), ("<listcomp>", None)]


def test_what_follows_the_dump_is_left() -> None:
    _, rest = read(DUMP + "srun: error: n1: task 0: Segmentation fault\n")
    assert left_texts(rest) == ["srun: error: n1: task 0: Segmentation fault"]


def test_timeout_dump() -> None:
    text = 'Timeout (0:00:05)!\nThread 0x00007f00 (most recent call first):\n  File "x.py", line 3 in wait\n'
    link = only(text).links[0]
    assert (link.message, link.frames[0].function) == ("Timeout (0:00:05)!", "wait")


def test_native_stack_of_python_3_14_is_no_frame() -> None:
    text = (
        DUMP
        + '\nCurrent thread\'s C stack trace (most recent call first):\n  Binary file "/bin/python", at _Py_Dump+0x1 [0x1]\n'
    )
    assert [frame.function for frame in only(text).links[0].frames] == ["<module>", "<listcomp>"]
