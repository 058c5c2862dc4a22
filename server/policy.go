package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Policy defines the targets and files that clients may open and read. The zero value forbids all.
type Policy struct {
	// Dirs are the directories of cores, executables and debug files that clients may name. "/" allows all
	// files that the server itself may read.
	Dirs []string
	// UIDs are the users with processes that clients may inspect.
	UIDs []int
	// Memory allows ReadMemory. Without it, clients see a target's memory only through pictures and routines.
	Memory bool
}

// allow checks a client's target and returns it with absolute paths.
func (p Policy) allow(spec *ompdv1.TargetSpec) (*ompdv1.TargetSpec, error) {
	out := proto.CloneOf(spec)
	if err := checkSources(spec.GetSources()); err != nil {
		return nil, err
	}
	switch src := spec.GetSource().(type) {
	case *ompdv1.TargetSpec_Core:
		core, err := p.path(spec.GetDirectory(), src.Core)
		if err != nil {
			return nil, err
		}
		out.Source = &ompdv1.TargetSpec_Core{Core: core}
	case *ompdv1.TargetSpec_Pid:
		if err := p.process(src.Pid); err != nil {
			return nil, err
		}
	default:
		return nil, failure(codes.InvalidArgument, "NO_SOURCE", "which target? core, pid or debugger must be set")
	}
	return out, p.checkFiles(spec, out)
}

// checkFiles checks the additional files of a target.
func (p Policy) checkFiles(spec, out *ompdv1.TargetSpec) error {
	for _, name := range []*string{&out.Exe, &out.Sysroot} {
		if *name == "" {
			continue
		}
		resolved, err := p.path(spec.GetDirectory(), *name)
		if err != nil {
			return err
		}
		*name = resolved
	}
	out.DebugDirs = slices.Clone(spec.GetDebugDirs())
	for i, dir := range out.DebugDirs {
		if dir == systemDebugDir {
			continue
		}
		resolved, err := p.path(spec.GetDirectory(), dir)
		if err != nil {
			return err
		}
		out.DebugDirs[i] = resolved
	}
	return nil
}

// systemDebugDir contains the distribution's debug files, which are public.
const systemDebugDir = "/usr/lib/debug"

// path makes a client's path absolute and checks it. Its symbolic links are checked when it is opened.
func (p Policy) path(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		if !filepath.IsAbs(dir) {
			return "", failure(codes.InvalidArgument, "RELATIVE_PATH", "%s: a relative path needs the directory that "+
				"it is relative to", name)
		}
		name = filepath.Join(dir, name)
	}
	name = filepath.Clean(name)
	if o := p.files(); !o.Below(name) && !o.Below(resolvedDir(name)) { // existence is not checked
		return "", notAllowed(name)
	}
	return name, nil
}

// resolvedDir resolves the symbolic links in the directory of a path.
func resolvedDir(name string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return ""
	}
	return filepath.Join(dir, filepath.Base(name))
}

// files returns an opener for the files that clients may open, and for system files that programs name.
func (p Policy) files() *files.Opener { return &files.Opener{Dirs: p.Dirs, Also: files.System()} }

// opener returns a function that opens files for clients; nil if all are allowed.
func (p Policy) opener() OpenFile {
	o := p.files()
	if o.All() {
		return nil
	}
	return func(name string) (*os.File, error) {
		f, err := o.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w, or not below the directories that this server opens files in (--allow-dir)", err)
		}
		return f, err
	}
}

func notAllowed(name string) error {
	return failure(codes.PermissionDenied, "DIRECTORY_NOT_ALLOWED", "%s: this server opens no files there; it was "+
		"started with other directories (--allow-dir)", name)
}

// process checks the owner of process pid.
func (p Policy) process(pid int64) error {
	st, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if _, noProc := os.Stat("/proc/self"); noProc != nil {
		return failure(codes.FailedPrecondition, "NO_PROC", "this server sees no processes: /proc is not mounted there")
	}
	if err != nil {
		return failure(codes.NotFound, "NO_PROCESS", "there is no process %d", pid)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !slices.Contains(p.UIDs, int(sys.Uid)) {
		return failure(codes.PermissionDenied, "USER_NOT_ALLOWED", "process %d: this server looks at no processes of "+
			"that user; it was started with others (--allow-uid)", pid)
	}
	return nil
}
