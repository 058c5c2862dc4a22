# packages.sh: packages of other releases of Debian, without a change to the system's own lists. $dir is where all lies.

# lists makes package lists of one release, and sets $apt to the options with which apt uses them.
lists() { # release of Debian
	state=$dir/apt-$1
	apt="-qq -o Dir::State=$state -o Dir::Cache=$state -o Dir::State::status=/dev/null -o Dir::Etc::sourcelist=$state/sources.list
		-o Dir::Etc::sourceparts=/nonexistent -o Acquire::Languages=none -o APT::Sandbox::User=root"
	[ -e "$state/done" ] && return
	mkdir -p "$state/lists/partial" "$state/archives/partial"
	mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)
	for kind in deb deb-src; do
		echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main"
	done >"$state/sources.list"
	apt-get $apt update
	touch "$state/done"
}

# source_of fetches the source of a package as its authors published it, without Debian's changes.
source_of() { # release of Debian, source package
	ls "$dir/$2"_*.orig.tar.xz >/dev/null 2>&1 && return
	lists "$1"
	(cd "$dir" && apt-get $apt source --download-only --tar-only "$2")
}

# unpack fetches a package and unpacks it into $dir/debian.
unpack() { # release of Debian, package
	[ -e "$dir/debian/$2" ] && return
	lists "$1"
	mkdir -p "$dir/debian/new-$2"
	(cd "$dir/debian/new-$2" && apt-get $apt download "$2" && dpkg-deb -x "$2"_*.deb . && rm "$2"_*.deb)
	mv "$dir/debian/new-$2" "$dir/debian/$2"
}
