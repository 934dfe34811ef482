#!/usr/bin/env bash
# Audits TARGETS: SARIF into a file, Markdown into the job's summary, the exit code into the outputs
# (the last step ends with it, so that the upload comes first).
set -uo pipefail

[ -n "${HF_TOKEN:-}" ] || unset HF_TOKEN
code_list() { printf '%s\n' "$1" | tr ', ' '\n\n' | grep -v '^$' || true; }

options=()
while IFS= read -r code; do options+=(--select "$code"); done < <(code_list "${SELECT:-}" | grep .)
while IFS= read -r code; do options+=(--ignore "$code"); done < <(code_list "${IGNORE:-}" | grep .)
[ "${POINTERS:-false}" = true ] && options+=(--pointers)
threshold=${FAIL_ON:-error}
[ "$threshold" = never ] || options+=(--fail-on "$threshold")
read -r -a targets <<< "${TARGETS:-.}"

"$HFINSPECT" audit ${options[@]+"${options[@]}"} --format sarif --output "$SARIF" -- "${targets[@]}"
code=$?
[ -s "$SARIF" ] && echo "sarif=$SARIF" >> "$GITHUB_OUTPUT"
{
  echo '## hfinspect audit'
  echo
  "$HFINSPECT" audit ${options[@]+"${options[@]}"} --format markdown -- "${targets[@]}"
} >> "$GITHUB_STEP_SUMMARY" 2>/dev/null
# A finding is no failure where the job only wants the report; what could not be read is one.
if [ "$threshold" = never ] && [ "$code" -eq 1 ]; then code=0; fi
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
