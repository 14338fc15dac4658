#!/usr/bin/env bash
# Installs what `make run`, `make test` and CI need from the system: on Debian as root. Elsewhere it names what is missing
# and the one command that installs it.
#
# needs.sh run       for `make run`: a C compiler, Node, Rust
# needs.sh test      for `make test` and CI: the same, the browser, and what tests run
# needs.sh command   prints the command that installs the browser
set -euo pipefail

# The web UI is tested in Debian's Chromium, with Debian's fonts. FONTS names another directory of fonts.
fonts=(fonts-dejavu-core fonts-droid-fallback)
browser=(chromium "${fonts[@]}")
truetype=${FONTS:-/usr/share/fonts/truetype}
sudo=$([ "$(id -u)" = 0 ] || echo "sudo ")

has() { command -v "$1" >/dev/null; }

has_fonts() {
    [ -e "$truetype/dejavu/DejaVuSans.ttf" ] && [ -e "$truetype/droid/DroidSansFallbackFull.ttf" ]
}

# As the Makefile looks for one.
has_browser() {
    local program
    for program in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do
        if has "$program"; then
            return
        fi
    done
    return 1
}

# The clients' tests have virtual environments, which Debian's Python cannot make by itself.
has_venv() {
    local python
    for python in python3.14 python3.13 python3.12 python3.11 python3.10 python3; do
        if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            return
        fi
    done
    return 1
}

# Installs Debian packages. Where their lists cannot be fetched, nothing is installed, and what needs them says so.
install() {
    if apt-get update -qq; then
        apt-get install -qq -y --no-install-recommends "$@" >/dev/null
    fi
}

# Prints the Debian packages of programs that are missing.
missing() {
    has cc || echo build-essential
    has node || echo nodejs
    has npm || echo npm
    if [ "$1" = test ]; then
        has git || echo git
        has python3 || echo python3
        has_venv || echo python3-venv
        has pgrep || echo procps
        has curl || echo curl
        has zsh || echo zsh
        has_browser || echo chromium
        has_fonts || printf '%s\n' "${fonts[@]}"
    fi
}

# Names the command that installs packages. Other fonts fail only tests of layouts, and without zsh one shell less judges the
# policy, so a run goes on without these; without another program, it would fail after minutes.
name() {
    if has apt-get; then
        echo "missing; install it: sudo apt-get install --no-install-recommends $*" >&2
    else
        echo "missing (the names are those of Debian's packages): $*" >&2
    fi
    local package
    for package in "$@"; do
        case $package in
        fonts-* | zsh) ;;
        *) exit 1 ;;
        esac
    done
}

# Fails with the next step where Rust, Node or Python is missing or too old, whatever installed them.
check_toolchains() {
    if ! has cargo; then
        echo "Rust is missing. Install it: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
        exit 1
    fi
    local node oldest
    node=$(node --version 2>/dev/null | tr -d v || true)
    oldest=$(printf '%s\n' 20.19 "${node:-0}" | sort -V | head -1)
    if [ "$oldest" != 20.19 ]; then
        echo "Node 20.19 or later is needed (found: ${node:-none}). Take one from https://nodejs.org" >&2
        exit 1
    fi
    if [ "$1" = test ] && ! has_venv; then
        echo "Python 3.10 or later with venv is needed (found: $(python3 --version 2>/dev/null || echo none))" >&2
        exit 1
    fi
}

case "${1:-}" in
command)
    echo "${sudo}apt-get install --no-install-recommends ${browser[*]}"
    ;;
run | test)
    mapfile -t packages < <(missing "$1")
    if [ ${#packages[@]} -gt 0 ]; then
        if has apt-get && [ -z "$sudo" ]; then
            echo "installing ${packages[*]}" >&2
            install "${packages[@]}"
        else
            name "${packages[@]}"
        fi
    fi
    check_toolchains "$1"
    ;;
*)
    echo "usage: needs.sh run|test|command" >&2
    exit 2
    ;;
esac
