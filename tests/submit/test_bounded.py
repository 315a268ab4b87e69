"""A site's template ends, whatever it says."""

from __future__ import annotations

import pytest

from tests.submit.runs import config
from triage.errors import ConfigError
from triage.submit.bounded import MOST
from triage.submit.template import render


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(10**12) %}x{% endfor %}",
        "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in 'abc' %}{{ j }}{% endfor %}{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ 10 ** 1000 }}",
        "{{ 'a' * 10000000000 }}",
        "{% for i in [0] * 10000000000 %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ 'a'|center(4000000000) }}",
        "{{ '%99999999999d' % 1 }}",
        "{{ '%99999999999d'|format(1) }}",
        "{{ '{:>9999999999}'.format(1) }}",
        "{{ 'a'.ljust(9999999999) }}",
        "{{ lipsum(n=100000) }}",
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{{ ''.__class__.__mro__ }}",
    ],
)
def test_template_without_an_end_is_refused(template: str) -> None:
    with pytest.raises(ConfigError, match="the template cannot be filled in"):
        render(config(), template=template)


def test_ordinary_loops_know_their_place_and_their_end() -> None:
    template = "{% for a in config.environment %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}"
    text = '[environment]\nA = "1"\nB = "2"\n'
    assert render(config(text), template=template) == "1/2','2/2''"
    assert len(render(config(), template="{% for i in range(90000) %}x{% endfor %}")) < MOST
