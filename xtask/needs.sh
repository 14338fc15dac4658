#!/usr/bin/env bash
# Installs what `make run`, `make test` and CI need from the system: on Debian as root. Elsewhere it names what is missing
# and the one command that installs it.
#
# needs.sh run       for `make run`: a C compiler, Node, Rust
# needs.sh test      for `make test`: the same, and the browser
# needs.sh browser   for CI: Chromium and its fonts, where there is apt-get; anything else is as it is
# needs.sh command   prints the command that installs the browser
set -euo pipefail

# The web UI is tested in Debian's Chromium, with Debian's fonts.
browser=(chromium fonts-dejavu-core fonts-droid-fallback)
fonts=/usr/share/fonts/truetype
sudo=$([ "$(id -u)" = 0 ] || echo "sudo ")

has() { command -v "$1" >/dev/null; }

lacks_browser() {
    ! has chromium || [ ! -e $fonts/dejavu/DejaVuSans.ttf ] || [ ! -e $fonts/droid/DroidSansFallbackFull.ttf ]
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
    if [ "$1" = test ] && lacks_browser; then
        printf '%s\n' "${browser[@]}"
    fi
}

# Fails with the next step where Rust or Node is missing or too old, whatever installed them.
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
}

case "${1:-}" in
browser)
    if lacks_browser && has apt-get; then
        install "${browser[@]}"
    fi
    ;;
command)
    echo "${sudo}apt-get install --no-install-recommends ${browser[*]}"
    ;;
run | test)
    mapfile -t packages < <(missing "$1")
    if [ ${#packages[@]} -gt 0 ]; then
        if has apt-get && [ -z "$sudo" ]; then
            echo "installing ${packages[*]}" >&2
            install "${packages[@]}"
        elif has apt-get; then
            echo "missing; install it: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
        else
            echo "missing (the names are those of Debian's packages): ${packages[*]}" >&2
        fi
    fi
    check_toolchains
    ;;
*)
    echo "usage: needs.sh run|test|browser|command" >&2
    exit 2
    ;;
esac
