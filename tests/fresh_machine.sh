#!/usr/bin/env bash
# Try the README's commands on a bare Debian: tests/fresh_machine.sh SUITE [FOLDER [COMMAND ...]]
#
# Makes a root of the suite (bookworm, trixie, testing) in FOLDER/SUITE, which has Python, venv, make and git alone; clones
# the last commit into the home of an ordinary user; and runs there the commands, or `make run` and `make test`. Prints
# for each what was missing, the last lines, the seconds, and at the end the sizes. Debian comes from debootstrap's
# mirror, packages from pip's own index. A root that is there already is used again, with a new clone. It needs Linux,
# root, debootstrap, 10 GB for a suite, and an hour or two. PACKAGES adds packages of Debian: PACKAGES="gcc python3-dev".
set -euo pipefail

suite=${1:?"say which suite: bookworm, trixie, testing"}
folder=$(mkdir -p "${2:-/var/tmp/retort-machines}" && cd "${2:-/var/tmp/retort-machines}" && pwd)
shift $(($# < 2 ? $# : 2))
(($#)) || set -- "make run" "make test"
repository=$(cd "$(dirname "$0")/.." && pwd)
root=$folder/$suite who=reader
home=/home/$who

# in namespaces of its own, so that neither a mount nor a process is left behind
in_root() { # as whom, then a command
    unshare --mount --pid --fork bash -euc '
        root=$1 user=$2 && shift 2
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        exec chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups env -i \
            HOME="/home/$user" USER="$user" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin "${@}"
    ' - "$root" "$@"
}

as_reader() { # a command line of the shell, in the clone
    in_root reader ${reach[@]+"${reach[@]}"} bash -c "cd $home/retort && $1"
}

# how this machine reaches the network: certificates, proxies and name servers, but no index of its own
reach=()
for variable in HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_PROXY PIP_DEFAULT_TIMEOUT; do
    [[ -z ${!variable:-} ]] || reach+=("$variable=${!variable}")
done

if [[ ! -e $root/.complete ]]; then
    debootstrap --variant=minbase --include="python3,python3-venv,make,git,ca-certificates" "$suite" "$root" >"$root.log" 2>&1 ||
        { tail -n 3 "$root.log" && exit 1; }
    chroot "$root" useradd --create-home --shell /bin/bash reader
    touch "$root/.complete"
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
for variable in PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE; do reach+=("$variable=/etc/ssl/certs/ca-certificates.crt"); done
# shellcheck disable=SC2086 # words
[[ -z ${PACKAGES:-} ]] || { # a mirror's list of a suite that is not released may be weeks old
    chroot "$root" apt-get -q -o Acquire::Check-Valid-Until=false update &&
        chroot "$root" apt-get install -q -y --no-install-recommends $PACKAGES
} >>"$root.log" 2>&1 || { tail -n 3 "$root.log" && exit 1; }

git -C "$repository" bundle create --quiet "$root$home/retort.bundle" HEAD
chroot "$root" rm -rf "$home/retort"
in_root reader git -c advice.detachedHead=false -c init.defaultBranch=main clone --quiet "$home/retort.bundle" "$home/retort"
echo "$suite: $(as_reader 'python3 --version'), $(nproc) cores, commit $(git -C "$repository" rev-parse --short HEAD)"

status=0
for command in "$@"; do
    log=$folder/$suite-${command//[^a-z]/-}.log
    SECONDS=0
    as_reader "$command" >"$log" 2>&1 </dev/null && code=0 || code=$? status=1
    echo "--- $command: status $code after $SECONDS seconds; its last lines, of $log:"
    grep -E '^make(\[[0-9]+\])?: |^(FAILED|ERROR) ' "$log" || true # what was missing
    tail -n "${LINES_SHOWN:-15}" "$log"
done
downloaded=$(as_reader 'grep -hoE "Downloading .*[0-9] [kMG]B" .venv/pip.log' |
    awk '{sub(/.*\(/, ""); mb += $1 * ($2 == "kB" ? 0.001 : $2 == "GB" ? 1000 : 1)} END {printf "%d", mb}')
echo "--- MB: $downloaded downloaded; now there are: $(as_reader 'du -smL .venv results' | tr '\n\t' '; ')"
exit $status
