"""Secrets go, ordinary log text stays, and no text is slow."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.report.mask import (
    MASK,
    clean,
    code_block,
    code_span,
    for_github,
    for_markdown,
    mask_secrets,
    safe,
)

SECRETS: list[tuple[str, str]] = [
    ("login with hf_" + "aB3" * 11, "aB3aB3"),
    ("remote: ghp_" + "x1Y2" * 9, "x1Y2"),
    ("github_pat_" + "11ABC_def" * 6, "11ABC_def"),
    ("OPENAI key sk-proj-" + "Ab12_" * 8, "Ab12_Ab12_"),
    ("sk-ant-api03-" + "q9" * 20, "q9q9"),
    ("AKIAIOSFODNN7EXAMPLE is used", "IOSFODNN7EXAMPLE"),
    ("slack xoxb-1234567890-abcdefghijkl", "1234567890-abc"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl end", "eyJzdWIi"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("wandb login 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("password=hunter2", "hunter2"),
    ("'password': 'correct horse', 'user': 'me'", "correct horse"),
    ('{"db_password": "hunter2"}', "hunter2"),
    ("token: abcdef123456", "abcdef123456"),
    ("Namespace(hub_token='s3cr3tvalue99', lr=1.0)", "s3cr3tvalue99"),
    ("--hf-token Abc123Def456 --lr 1e-4", "Abc123Def456"),
    ("  api_key ................... Abc123Def456", "Abc123Def456"),
    ("Authorization: Bearer abc.def-123~x", "abc.def-123~x"),
    ("'Authorization': 'Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
    ("https://user:pa55w0rd@registry.example.com/v2", "pa55w0rd"),
    ("https://user:p@ss-w0rd@registry.example.com/v2", "ss-w0rd"),
    ("https://abcdefghij0123456789@git.example.com/x", "abcdefghij0123456789"),
    ("https://x.example.com/a?access_token=Abc123Def456&b=1", "Abc123Def456"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("machine api.example.com login user password 0123456789abcdef", "0123456789abcdef"),
    ("PUT https://b.s3.example.com/k?X-Amz-Date=1&X-Amz-Signature=0a1b2c3d4e5f60718293", "0a1b2c3d"),
    ("https://x.blob.example.net/c?sv=2024&sig=aB3dE5fG7hI9jK1lM3nO5pQ7%3D&se=1", "aB3dE5fG"),
    ("npm_" + "aB3" * 12, "aB3aB3"),
    ("pypi-AgEIcHlwaS5vcmc" + "aB3_" * 12, "aB3_aB3_"),
    ("https://hooks.slack.com/services/T0AAA/B0BBB/cCcDdD", "cCcDdD"),
    ("+ curl -s -u bob:hunter2 https://x.example.com", "hunter2"),
    ("sshpass -p hunter2 ssh gpu1", "hunter2"),
    ("docker login -u me -p hunter2 registry.example.com", "hunter2"),
    ("Set-Cookie: session=abc123def; Path=/", "abc123def"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA PRIVATE KEY-----\nafter", "MIIEabc"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "b3BlbnNz"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[t[:24].strip() for t, _ in SECRETS])
def test_secret_is_masked(text: str, secret: str) -> None:
    masked = mask_secrets(text)
    assert secret not in masked
    assert MASK in masked
    assert mask_secrets(masked) == masked


def test_text_around_a_secret_stays() -> None:
    assert mask_secrets("a https://u:p@h/x b") == f"a https://u:{MASK}@h/x b"
    assert mask_secrets("x hub_token='s3cr3t99', lr=1") == f"x hub_token='{MASK}', lr=1"
    assert mask_secrets("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nafter").endswith("after")


ORDINARY = [
    "frame #3: <unknown function> + 0x7f3a5c0012ab (0x7f3a5c0012ab in /lib/libtorch.so)",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "NCCL INFO comm 0x55d5c8a3f0e0 rank 3 nranks 16 commId 0x9d24bd1e2c8f1a34 - Init START",
    "rdzv_id=d6f92cc5-d39f-4c97-b5cc-3c80408af72b_nng4qjcf store tcp://10.0.0.1:29500",
    "wandb: run id 3kqz8x1p, sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "number of tokens: 4096, eos_token: 128009, pad_token='<pad>', bos_token: <s>, token: 5",
    "[--fim-prefix-token FIM_PREFIX_TOKEN] [--token TOKEN]",
    "token: HuggingFaceTokenizer, tokenizer_type: GPT2BPETokenizer, max_new_tokens=2048",
    "token=None api_key=null password=None secret=",
    "KeyError: 'token' while the key: default_pg/0//cuda//5 was read",
    "task-1234567890abcdefghij disk-usage-1234567890123456 risk-averse-12345678901234",
    "hf_checkpoint_converter_for_megatron hf_model",
    "Invalid token at line 5; unexpected token ( near api key",
    "http://proxy.example.com:3128/ https://user@host.example.com/x",
    "eyJ is no web token; std::bad_alloc; torch::autograd::Engine::evaluate_function",
    "password authentication failed for user x",
]


@pytest.mark.parametrize("text", ORDINARY, ids=[t[:24].strip() for t in ORDINARY])
def test_ordinary_log_text_is_left_alone(text: str) -> None:
    assert mask_secrets(text) == text


def test_no_terminal_control_is_left() -> None:
    text = clean(
        "a\x1b[31mb\x1b[0m\x1b]8;;http://x\x07c\x1b]8;;\x1b\\d\x9b1me\x90q\x9cf\u202eg\u200bh\r\ni\rj\x00k\x1bcl\ufeff\ud800\tm"
    )
    assert text == "abcdefgh\ni\njkl\ufffd\tm"


@given(st.text())
def test_clean_text_holds_no_control_or_format_character(text: str) -> None:
    out = clean(text)
    assert all(c in "\t\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in out)
    assert clean(out) == out


def test_plain_text_is_unchanged() -> None:
    text = "mémoire 显存不足 🏖️ a\tb\n  c"
    assert clean(text) == text


@pytest.mark.parametrize(
    "unit",
    ["eyJ-", "a_", "token=", "password=", "token ...... ", "://", "://a:", "bearer ", "\x1b[", "\x1b]", "login a ",
     "-----BEGIN RSA PRIVATE KEY-----", "sk-", "authorization ", 'token="', "`", "token ", "--token ", "a" * 9, "hf_", "@a"],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    start = time.perf_counter()
    for_markdown(safe(text))
    code_block(text)
    for_github(text)
    assert time.perf_counter() - start < 3


@given(st.text(alphabet="`a \n"))
def test_nothing_ends_a_code_span_or_block(text: str) -> None:
    span, block = code_span(text), code_block(text)
    fence = block[: len(block) - len(block.lstrip("`"))]
    assert fence not in text
    if span:
        opening = span[: len(span) - len(span.lstrip("`"))]
        inner = span[len(opening) : -len(opening)]
        assert not inner.startswith("`")
        assert not inner.endswith("`")
        assert all(len(run) < len(opening) for run in inner.replace(" ", "\n").replace("a", "\n").split("\n"))
