package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func TestVersionOf(t *testing.T) {
	const hash = "832bf42abcdef0123456789abcdef0123456789a"
	clone := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: hash}}
	with := func(modified string) []debug.BuildSetting {
		return append(slices.Clone(clone), debug.BuildSetting{Key: "vcs.modified", Value: modified})
	}
	clean, dirty := with("false"), with("true")
	for name, c := range map[string]struct {
		release, module string
		settings        []debug.BuildSetting
		version, commit string
	}{
		"go install":        {module: "v1.2.3", version: "v1.2.3", commit: "unknown"},
		"a tarball":         {module: "(devel)", version: "(devel)", commit: "unknown"},
		"nothing is known":  {version: "unknown", commit: "unknown"},
		"a clone":           {module: "v1.2.3", settings: clean, version: "v1.2.3", commit: "832bf42abcde"},
		"a changed clone":   {module: "v1.2.3", settings: dirty, version: "v1.2.3", commit: "832bf42abcde+dirty"},
		"a release":         {"v2.0.0", "v1.2.3", clean, "v2.0.0", "832bf42abcde"},
		"a release tarball": {"v2.0.0", "(devel)", nil, "v2.0.0", "unknown"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		if version, commit := versionOf(c.release, info); version != c.version || commit != c.commit {
			t.Errorf("%s: %s, commit %s, want %s, commit %s", name, version, commit, c.version, c.commit)
		}
	}
}

// TestBuiltVersion builds the program from the files of this module, as from a tarball, and
// then from a clone with one commit, a tag and a change.
func TestBuiltVersion(t *testing.T) {
	omptest.Needs(t, "git and make")
	dir := copySources(t)
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { // of a git that runs this test as a hook
		return strings.HasPrefix(v, "GIT_")
	})
	env = slices.Clip(env)
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.org", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(want string, makeArgs ...string) {
		t.Helper()
		run("make", append([]string{"build", "BIN=bin/tool"}, makeArgs...)...)
		got, _, _ := strings.Cut(run("bin/tool", "version"), "\n")
		if !regexp.MustCompile("^ompd-inspect " + want + `, go1\.\S+\)$`).MatchString(got) {
			t.Errorf("%v: %s, want %s", makeArgs, got, want)
		}
	}
	check(`\(devel\) \(commit unknown`)
	check(`v9\.8\.7 \(commit unknown`, "VERSION=v9.8.7")
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the copy is a clone: %v", err)
	}
	run("git", "init", "-q")
	run("git", "add", ".")
	run("git", "commit", "-q", "-m", "all")
	commit := run("git", "rev-parse", "HEAD")[:commitDigits]
	check(`v0\.0\.0-\d{14}-` + commit + ` \(commit ` + commit)
	run("git", "tag", "v1.2.3")
	check(`v1\.2\.3 \(commit ` + commit)
	check(`v9\.8\.7 \(commit `+commit, "VERSION=v9.8.7")
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(`v1\.2\.3\+dirty \(commit ` + commit + `\+dirty`)
}

// copySources copies the files from which the program is built to a new directory. It leaves out
// git's files: .git is a file in a worktree, or a submodule.
func copySources(t *testing.T) string {
	t.Helper()
	const root = "../.."
	dir := t.TempDir()
	skipped := []string{".git", "bin", "node_modules", "testdata", "editors", "tools"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(skipped, d.Name()):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("/bin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
