#!/usr/bin/env bash
# Installs hfinspect for one job, in an environment of its own. VERSION: a version, or what pip
# installs (a path, an address); empty for the newest.
set -euo pipefail

case "${VERSION:-}" in
  '') what=hfinspect ;;
  [0-9]*) what="hfinspect==$VERSION" ;;
  -*) echo "::error::version $VERSION is neither a version nor a place"; exit 2 ;;
  *) what=$VERSION ;;
esac
place="$RUNNER_TEMP/hfinspect"
if command -v uv >/dev/null; then
  uv venv --quiet "$place"
  uv pip install --quiet --python "$place" "$what"
else
  python=$(command -v python3 || command -v python)
  "$python" -m venv "$place"
  scripts=$place/bin
  [ -d "$scripts" ] || scripts=$place/Scripts
  "$scripts/python" -m pip install --quiet --disable-pip-version-check "$what"
fi
scripts=$place/bin
[ -d "$scripts" ] || scripts=$place/Scripts
"$scripts/hfinspect" --version
echo "hfinspect=$scripts/hfinspect" >> "$GITHUB_OUTPUT"
