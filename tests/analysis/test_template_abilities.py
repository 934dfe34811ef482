"""What a chat template heeds, by its text; any text gives an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.analysis.template_abilities import MAX_WORDS, abilities
from hfinspect.core.tokenizer_facts import ChatTemplate
from hfinspect.formats.jinja.template_blocks import MAX_TEMPLATE_CHARS


def told(text: str) -> ChatTemplate:
    return abilities("default", "chat_template.jinja", text)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("{% if m.role == 'user' %}{% endif %}", ("user",)),
        ("{% if m['role'] in ['user', 'tool'] %}{% endif %}", ("user", "tool")),
        ("{% if m.get('role') == 'user' %}{% endif %}", ("user",)),
        ("{% set r = m.role %}{% if r != 'system' %}{% endif %}", ("system",)),
        ("{{ messages | selectattr('role', 'equalto', 'system') | list }}", ("system",)),
        ("{{ 'x' if m.role == 'user' else 'y' }}", ("user",)),
        ("{% if m.content == 'user' %}{% endif %}", ()),
        ("{# {% if m.role == 'user' %} #}{% raw %}{% if m.role == 'a' %}{% endraw %}", ()),
    ],
)
def test_roles(text: str, roles: tuple[str, ...]) -> None:
    assert told(text).roles == roles
    assert not told(text).any_role


@pytest.mark.parametrize(
    ("text", "any_role"),
    [
        ("{{ '<|' + m.role + '|>' }}", True),
        ("{{ m['role'] | upper }}", True),
        ("{% set r = m.role %}{{ r }}", True),
        ("{{ m.content }}", False),
        ("{% if m.role %}{% endif %}", False),
    ],
)
def test_a_role_that_is_written_as_it_comes(text: str, any_role: bool) -> None:
    assert told(text).any_role == any_role


def test_a_refused_role_is_not_a_known_one() -> None:
    text = "{% if m.role == 'system' %}\n{{ raise_exception('no') }}{% endif %}"
    assert (told(text).roles, told(text).refused) == ((), ("system",))
    text = "{% if m.role != 'user' %}{{ raise_exception('no') }}{% endif %}"
    assert (told(text).roles, told(text).refused) == (("user",), ())


def test_variables_are_the_callers_only() -> None:
    text = (
        "{% if not tools is defined %}{% set tools = none %}{% endif %}{% for m in messages %}"
        "{{ loop.index }}{{ m }}{% endfor %}{% macro f(a, b=c) %}{{ a + b }}{% endmacro %}"
        "{% set ns = namespace(x=date) %}{{ ns.x }}{{ f(name='n', if_=2) }}"
    )
    assert told(text).variables == ("tools", "messages", "c", "date")
    assert told(text).tools


def test_tokens_that_are_written_and_those_that_are_looked_for() -> None:
    text = (
        "<|a|>{{ '<|b|>' ~ x }}{% if '<|c|>' in x or x == '<|d|>' %}{% endif %}"
        "{{ x.split('<|e|>') }}{# <|f|> #}{{ f('<|g|>') }}<｜h｜>< |i|>"
    )
    assert told(text).tokens == ("<|a|>", "<|b|>", "<|g|>", "<｜h｜>")


def test_content_and_thinking() -> None:
    text = (
        "{% for p in m.content %}{% if p.type == 'image_url' or 'video' in p %}{% endif %}"
        "{% endfor %}{% if enable_thinking %}{% endif %}{% if m.tool_calls %}{% endif %}"
    )
    template = told(text)
    assert template.modalities == ("image", "video")
    assert template.thinking == ("enable_thinking",)
    assert (template.tools, template.tool_calls) == (False, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{% nonsense %}", "is unknown"),
        ("{{ ( }}", ""),
        ("{{ " + "(" * 90 + "x" + ")" * 90 + " }}", "deep"),
        ("{{ x" + ".a" * 60_000 + " }}", ""),
        ("x" * (MAX_TEMPLATE_CHARS + 1), "characters"),
    ],
)
def test_what_is_not_understood_is_said(text: str, problem: str) -> None:
    template = told(text)
    assert template.problem
    assert problem in template.problem
    assert (template.roles, template.tokens) == ((), ())


def test_a_hostile_number_of_roles_is_bounded() -> None:
    text = "".join(f"{{% if m.role == 'r{n}' %}}{{% endif %}}" for n in range(2000))
    assert len(told(text).roles) == MAX_WORDS


PIECES = st.sampled_from(
    "{% if for set macro endif %} {{ }} {# #} messages m .role ['role'] == != in 'user' \"tool\" "
    "<|a|> ( ) [ ] { } | ~ + not is raise_exception('x') = , . \\ \u202e \x00".split(" ")
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map(" ".join)))
def test_any_text_gives_an_answer(text: str) -> None:
    template = told(text)
    assert template.characters == len(text)
    assert template.problem or isinstance(template.roles, tuple)
