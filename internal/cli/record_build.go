package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/recorder"
)

// recorderCompilers are the compilers that can build the recorder, best first.
var recorderCompilers = []string{"cc", "gcc", "clang"}

// The flags by which the Makefile builds the recorder, but for those of warnings and debug information.
var (
	recorderFlags = strings.Fields("-std=gnu11 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden " +
		"-fno-tree-loop-distribute-patterns -fno-stack-protector -shared")
	recorderLinking = strings.Fields("-Wl,-soname," + recorderLibrary + " -Wl,-z,defs,-z,now")
)

// privateMode are the rights of the directory of compiled recorders: what is in it is loaded into programs.
const privateMode = 0o700

// buildRecorder returns the path of a recorder of the sources in this executable. It compiles them if the user's cache
// has none by the same compiler.
func buildRecorder(version string) (string, error) {
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	sources, err := recorderSources()
	if err != nil {
		return "", err
	}
	key, err := recorderKey(compiler, version, sources)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ompd-inspect", "recorder")
	if err := makePrivate(dir); err != nil {
		return "", err
	}
	// The name of the library is what readers know the recorder by, so the key is that of its directory.
	path := filepath.Join(dir, key, recorderLibrary)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, compileRecorder(compiler, version, sources, filepath.Dir(path))
}

// findCompiler returns the path of a C compiler.
func findCompiler() (string, error) {
	for _, name := range recorderCompilers {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.EvalSymlinks(path)
		}
	}
	return "", fmt.Errorf("%w: none is installed, and no C compiler is there to build it (%s)", fs.ErrNotExist,
		strings.Join(recorderCompilers, ", "))
}

// recorderSources returns the names of all files of the recorder.
func recorderSources() ([]string, error) {
	var names []string
	err := fs.WalkDir(recorder.Sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// recorderKey returns a name for the recorder that a compiler makes of the sources.
func recorderKey(compiler, version string, sources []string) (string, error) {
	h := sha256.New()
	out, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", compiler, err)
	}
	fmt.Fprintf(h, "%q\n", [][]string{{compiler, string(out), version}, recorderFlags, recorderLinking})
	for _, name := range sources {
		b, err := recorder.Sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %d\n", name, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// makePrivate makes a directory into which nobody but this user can write, or checks that it is one.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, privateMode); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s: others can write to it, or it is not this user's own: remove it", dir)
	}
	return nil
}

// compileRecorder makes a directory with the recorder, which is there as a whole or not at all.
func compileRecorder(compiler, version string, sources []string, dir string) error {
	temp, err := os.MkdirTemp(filepath.Dir(dir), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	directory := filepath.Join(temp, "sources")
	if err := os.CopyFS(directory, recorder.Sources); err != nil {
		return err
	}
	args := append([]string{}, recorderFlags...)
	args = append(args, `-DVERSION="`+version+`"`)
	args = append(append(args, recorderLinking...), "-o", filepath.Join(temp, recorderLibrary))
	for _, name := range sources {
		if filepath.Ext(name) == ".c" {
			args = append(args, name)
		}
	}
	cmd := exec.Command(compiler, append(args, "-lpthread")...)
	cmd.Dir = directory
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, bytes.TrimSpace(text.Bytes()))
	}
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	// Another process may have been first: its recorder is the same.
	if err := os.Rename(temp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
