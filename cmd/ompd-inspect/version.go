package main

import "runtime/debug"

// release is the version of a release. The linker sets it, and in releases only.
var release string

// unknown is the version or the commit that a build does not have.
const unknown = "unknown"

// commitDigits is the number of digits of a commit that are printed, as in versions of Go modules.
const commitDigits = 12

// versionOf returns the version and the commit of a build: the version of the module unless
// it is a release, and the commit with "+dirty" if files were changed since. A build outside
// a clone has no commit.
func versionOf(release string, info *debug.BuildInfo) (version, commit string) {
	version, commit = release, unknown
	if version == "" {
		version = info.Main.Version
	}
	if version == "" {
		version = unknown
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value[:min(len(s.Value), commitDigits)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit == unknown {
		return version, commit
	}
	return version, commit + dirty
}
