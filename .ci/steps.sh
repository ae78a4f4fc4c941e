# What the scripts here have in common: steps that are named and timed, and what is skipped, said loudly. To be sourced.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_INCREMENTAL=0
scratch=$(mktemp -d)
current='start'
trap 'code=$?; rm -rf "$scratch"; [ "$code" = 0 ] || printf "\nFAILED: %s (exit %s)\n" "$current" "$code" >&2' EXIT

# One list for a script and those that it calls.
[ -n "${SKIPS:-}" ] || outermost=yes
export SKIPS=${SKIPS:-$scratch/skips}

skip() {
  printf '%s\n' "$*" >>"$SKIPS"
  printf '\n!!!!!! SKIPPED: %s !!!!!!\n' "$*" >&2
}

# The processor time of all that has ended below this script, in seconds: what a step costs on a machine that others use.
spent() {
  awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / hz) }' /proc/$$/stat
}

# step NAME COMMAND…: runs it, and fails with it.
step() {
  current=$1
  shift
  printf '\n=== %s\n' "$current"
  local begin=$SECONDS before
  before=$(spent)
  "$@"
  printf -- '--- %s: ok, %s s, %s s of processor time\n' "$current" $((SECONDS - begin)) $(($(spent) - before))
}

finish() {
  [ -n "${outermost:-}" ] || return 0
  printf '\nAll steps passed in %s s.\n' "$SECONDS"
  [ ! -e "$SKIPS" ] || sed 's/^/SKIPPED: /' "$SKIPS"
}
