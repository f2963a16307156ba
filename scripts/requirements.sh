# shellcheck shell=bash
# What the scripts beside this file share: finding cargo, and installing Debian packages where that
# is allowed. Sourced, never run.

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Puts cargo on the PATH, or says how to get it.
require_cargo() {
    command -v cargo >/dev/null && return
    local folder=${CARGO_HOME:-${HOME-}/.cargo}/bin
    if [[ -x $folder/cargo ]]; then
        PATH=$folder:$PATH
        return
    fi
    say "cargo is missing. corun is built with Rust: install it from https://rustup.rs, then run this again."
    return 1
}

# The Debian packages of the arguments COMMAND=PACKAGE whose command is missing.
missing_packages() {
    local need
    for need in "$@"; do
        command -v "${need%%=*}" >/dev/null || printf '%s\n' "${need#*=}"
    done
}

# Installs Debian packages; fails where this system or this user cannot.
install_packages() {
    (($# == 0)) && return
    [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null || return 1
    say "installing $*"
    local install=(apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@")
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # The second try is for package lists that are missing or too old.
    if "${install[@]}" </dev/null >"$log" 2>&1 ||
        { apt-get update </dev/null >>"$log" 2>&1 && "${install[@]}" </dev/null >>"$log" 2>&1; }; then
        rm -f "$log"
    else
        tail -n 5 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# What builds DynamoRIO, the quick tracer, beside the C compiler.
require_cmake() {
    local packages
    mapfile -t packages < <(missing_packages cmake=cmake make=make)
    install_packages "${packages[@]}" && return
    say "missing, so that corun is built without its quick tracer: ${packages[*]}"
    say "on Debian, as root: apt-get install ${packages[*]}"
    return 1
}

# The C compiler that builds the libraries that corun brings along and links for rustc, and the C
# library to link with.
require_linker() {
    local packages
    mapfile -t packages < <(missing_packages cc=gcc)
    ((${#packages[@]} == 0)) && return
    install_packages "${packages[@]}" libc6-dev && return
    say "a C compiler (cc) is missing. On Debian: apt-get install gcc libc6-dev"
    return 1
}
