"""Texts in templates, followed to attributes and subscripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.auditing.facts.templates import danger_in

from ..trust.third_round import TEMPLATES

#: In the manner of templates that models are released with.
USUAL = [
    (
        "{% for message in messages %}{{ '<|im_start|>' + message['role'] + message.content }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    (
        "{%- set ns = namespace(found=false, text='') -%}{%- for m in messages -%}"
        "{%- set ns.text = ns.text ~ m['content'] -%}{%- endfor -%}{{ ns.text | trim }}"
    ),
    (
        "{% macro render(content, depth=0) %}{% if content is string %}{{ content }}{% else %}"
        "{% for part in content %}{{ part[part['type']] if part['type'] in part else part.text }}"
        "{% endfor %}{% endif %}{% endmacro %}{{ render(messages[0]['content']) }}"
    ),
    "{{ tools | map(attribute='function') | selectattr('name', 'equalto', 'x') | list | tojson }}",
    (
        "{% for tool in tools %}{% for key, value in tool.items() %}{{ key }}: {{ tool[key] }}"
        "{% endfor %}{% endfor %}"
    ),
    (
        "{% if messages[0]['role'] == 'system' %}{% set offset = 1 %}{% else %}{% set offset = 0 %}"
        "{% endif %}{{ messages[offset:][0]['content'] }}{{ messages[loop.index0 - 1]['role'] }}"
    ),
    "{{ raise_exception('Roles must alternate: ' ~ messages[-1].role) }}",
    "{{ strftime_now('%d %b %Y') }}{{ '{:02d}'.format(3) }}{{ 'a%s' % x }}",
    (
        "{% set kinds = ['image', 'video'] %}{% for kind in kinds %}{{ part[kind] }}"
        "{{ part[kind ~ '_url'] }}{% endfor %}"
    ),
    "{% generation %}{{ message.content | default('') }}{% endgeneration %}{% break %}",
    (
        "{%- for name, value in tool['parameters'].properties|dictsort -%}{{ value.type|upper }}"
        "{%- endfor -%}{{ name.split('.')[0] in known }}"
    ),
    "{% call(x) listed(items) %}{{ x.name }}{% endcall %}{% filter trim %}a{% endfilter %}",
]


@pytest.mark.parametrize("text", USUAL)
def test_what_templates_do_is_no_danger(text: str) -> None:
    assert danger_in(text) is None


@pytest.mark.parametrize("title", TEMPLATES)
def test_a_made_name_is_a_danger(title: str) -> None:
    assert danger_in(TEMPLATES[title]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "{{ lipsum }}|{{ x[lipsum] }}",
        "{{ [joiner]|first }}",
        "{% set x = cycler %}{{ x.next }}",
        "{{ x[y|join] ~ ['_', 'a']|join }}{{ x[['_', 'a']|join] }}",
        "{{ x.get('__init__'|reverse) }}",
        "{{ '{0.real}'.format(x) }}",
        "{% strange tag %}",
        "{{ x ? y }}",
        "{{ '\\N{LOW LINE}' }}",
        "{{ " + "(" * 200 + "x" + ")" * 200 + " }}",
    ],
)
def test_what_is_not_followed_is_not_believed(text: str) -> None:
    assert danger_in(text) is not None


@pytest.mark.loaders
@pytest.mark.parametrize("title", TEMPLATES)
def test_the_sandbox_of_transformers_stops_it(title: str) -> None:
    sandbox = pytest.importorskip("jinja2.sandbox")
    errors = pytest.importorskip("jinja2.exceptions")
    template = sandbox.ImmutableSandboxedEnvironment().from_string(TEMPLATES[title])
    with pytest.raises((errors.SecurityError, errors.UndefinedError)):
        template.render()


@given(
    st.lists(
        st.sampled_from(
            [
                "{{",
                "}}",
                "{%",
                "%}",
                " set x = ",
                "x",
                "[",
                "]",
                "'a'",
                "'_'",
                "~",
                "|join",
                ".y",
                "(",
                ")",
                " for k in ",
                "macro m(a)",
                " if ",
                "else",
                ",",
                "{",
                "}",
                "namespace",
                "=",
                "endfor",
            ]
        ),
        max_size=40,
    )
)
def test_any_template_is_judged(pieces: list[str]) -> None:
    assert danger_in("".join(pieces)) in (None, danger_in("".join(pieces)))
