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

// recorderCompilers lists the compilers that can build the recorder, best first.
var recorderCompilers = []string{"cc", "gcc", "clang"}

// The flags with which the Makefile builds the recorder, without those for warnings and debug information.
var (
	recorderFlags = strings.Fields("-std=gnu11 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden " +
		"-fno-tree-loop-distribute-patterns -fno-stack-protector -shared")
	recorderLinking = strings.Fields("-Wl,-soname," + recorderLibrary + " -Wl,-z,defs,-z,now")
)

// privateMode is the mode of the directory of compiled recorders. It is private because its files are loaded
// into programs.
const privateMode = 0o700

// buildRecorder returns the path of a recorder that is built from the sources in this executable. It compiles
// them unless the user's cache has a recorder of the same compiler.
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
	// Readers recognize the recorder by the name of the library, so the key names its directory.
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

// recorderKey returns a name for the recorder that a compiler builds from the sources.
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

// makePrivate creates a directory that only this user can write to, or checks that an existing one is.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, privateMode); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s: others can write to it, or another user owns it: remove it", dir)
	}
	return nil
}

// compileRecorder creates a directory with the recorder. The directory appears completely or not at all.
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
	// If another process was faster, its recorder is the same.
	if err := os.Rename(temp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
