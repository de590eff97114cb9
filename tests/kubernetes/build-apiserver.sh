#!/usr/bin/env bash
# Builds the Kubernetes API server that the tests run against, once, and prints where it is.
#
# No distribution packages one, so it is compiled from the source package of Debian 12 (Kubernetes 1.20.2). That takes some
# minutes and 3 GB of disk; the result is kept outside the checkout. Needs Debian and root, for the packages.
set -euo pipefail

version=1.20.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/evenhand
binary=$cache/kube-apiserver-$version

if [ -x "$binary" ] && command -v etcd >/dev/null; then
  echo "$binary"
  exit
fi
exec 3>&1 >&2 # only the path goes to standard output

if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || [ "$(id -u)" != 0 ]; then
  echo "a Kubernetes API server can be built on Debian 12 as root only"
  exit 1
fi

mkdir -p "$cache"
exec 9>"$cache/kube-apiserver.lock"
flock 9 # of two who build, one waits and finds it done

packages=(etcd-server)
[ -x "$binary" ] || packages+=(golang-go jq rsync make patch dpkg-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq || true
  # The daemons are started by the tests, on loopback; the packages must not start theirs.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
fi

build() {
  local work=$1
  cd "$work"
  # Sources of the same release, in lists of our own: the machine's are left as they are.
  mkdir -p lists/partial
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" >sources.list
  local own=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists")
  apt-get "${own[@]}" update -qq
  apt-get "${own[@]}" source --download-only "kubernetes=$version-1" || apt-get "${own[@]}" source --download-only kubernetes
  apt-get download golang-github-modern-go-reflect2-dev
  dpkg-source --extract kubernetes_*.dsc tree # applies the patches of the package
  dpkg-deb --extract golang-github-modern-go-reflect2-dev_*.deb reflect2
  cd tree
  # The packaged Go is newer than this Kubernetes; with its own reflect2 the server would crash after half a minute.
  local vendored=vendor/github.com/modern-go/reflect2
  [ ! -f $vendored/BUILD ] || cp $vendored/BUILD ../reflect2.BUILD
  rm -rf $vendored
  cp -r ../reflect2/usr/share/gocode/src/github.com/modern-go/reflect2 $vendored
  [ ! -f ../reflect2.BUILD ] || cp ../reflect2.BUILD $vendored/BUILD
  mkdir -p .go/src/k8s.io
  ln -sfn ../../.. .go/src/k8s.io/kubernetes
  # The version is told by hand: there is no git history to ask.
  GOCACHE=$work/go-cache GOPATH=$PWD/.go CGO_ENABLED=0 GOPROXY=off GOFLAGS= KUBE_GIT_VERSION=v$version KUBE_GIT_COMMIT=debian \
    KUBE_GIT_TREE_STATE=clean KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20 make WHAT="cmd/kube-apiserver"
  cp "$(find _output -type f -name kube-apiserver | head -1)" "$binary.new"
  mv "$binary.new" "$binary"
}

if [ ! -x "$binary" ]; then
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/evenhand-apiserver.XXXXXX")
  trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
  (build "$work")
fi
echo "$binary" >&3
