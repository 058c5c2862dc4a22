package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestDirectories opens files inside and outside the allowed directories, by every kind of path.
func TestDirectories(t *testing.T) {
	top := t.TempDir()
	in, out := filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, dir := range []string{in, out} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "core"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{in + "/link": in + "/core", in + "/escape": out + "/core", in + "/up": out,
		top + "/way": in} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	p := Policy{Dirs: []string{top + "/way"}}
	for _, tt := range []struct {
		dir, name string
		want      codes.Code
	}{
		{"", in + "/core", codes.OK}, {in, "core", codes.OK}, {"", in + "/link", codes.OK},
		{"", top + "/way/core", codes.OK},
		{out, "../in/core", codes.OK}, {"", in + "/none", codes.NotFound},
		{"", out + "/core", codes.PermissionDenied}, {in, "../out/core", codes.PermissionDenied},
		{"", in + "/escape", codes.NotFound}, {"", in + "/up/core", codes.NotFound},
		{"", in + "/up/none", codes.NotFound},
		{"", in + "x", codes.PermissionDenied}, {"", out + "/none", codes.PermissionDenied},
		{"", "/", codes.PermissionDenied}, {"", "/proc/self/root/etc/passwd", codes.PermissionDenied},
		{"", "core", codes.InvalidArgument}, {"in", "core", codes.InvalidArgument},
	} {
		got, err := p.allow(&ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: tt.name}, Directory: tt.dir})
		if err == nil {
			var f *os.File
			if f, err = p.opener()(got.GetCore()); err == nil {
				f.Close()
			}
		}
		codeOf(t, tt.dir+" "+tt.name, statusOf(err), tt.want)
		beside := &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: in + "/core"}, Directory: tt.dir,
			Exe: tt.name, Sysroot: tt.name}
		if _, err = p.allow(beside); tt.want != codes.NotFound { // found at the opening
			codeOf(t, "beside: "+tt.dir+" "+tt.name, statusOf(err), tt.want)
		}
	}
	_, err := Policy{}.allow(specOf(in + "/core"))
	codeOf(t, "no directory is allowed", err, codes.PermissionDenied)
	_, err = Policy{Dirs: []string{"/"}}.allow(&ompdv1.TargetSpec{})
	codeOf(t, "nothing to open", err, codes.InvalidArgument)
}

func TestDebugDirectories(t *testing.T) {
	dir := t.TempDir()
	core := filepath.Join(dir, "core")
	if err := os.WriteFile(core, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := specOf(core)
	spec.DebugDirs = []string{systemDebugDir, dir, dir + "/none"}
	got, err := Policy{Dirs: []string{dir}}.allow(spec)
	if err != nil || strings.Join(got.GetDebugDirs(), " ") != strings.Join(spec.GetDebugDirs(), " ") {
		t.Errorf("%v, %v", got, err)
	}
	spec.DebugDirs = []string{"/etc"}
	_, err = Policy{Dirs: []string{dir}}.allow(spec)
	codeOf(t, "a debug directory elsewhere", err, codes.PermissionDenied)
}

func TestUsers(t *testing.T) {
	self := &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Pid{Pid: int64(os.Getpid())}}
	_, err := Policy{UIDs: []int{ownUID()}}.allow(self)
	codeOf(t, "an own process", err, codes.OK)
	_, err = Policy{UIDs: []int{ownUID() + 1}}.allow(self)
	codeOf(t, "another user's process", err, codes.PermissionDenied)
	_, err = Policy{UIDs: []int{ownUID()}}.allow(&ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Pid{Pid: 1 << 30}})
	codeOf(t, "no process", err, codes.NotFound)
}

// TestMemory reads memory only if that is allowed.
func TestMemory(t *testing.T) {
	r := core(t, "barrier")
	pic := direct(t, r.Core, ompdv1.PicturePart_PICTURE_PART_THREADS)
	at := uint64(*pic.Threads[0].Pthread)
	read := func(p Policy, at uint64) (*ompdv1.ReadMemoryResponse, error) {
		p.Dirs = []string{"/"}
		_, address := start(t, Config{Policy: p})
		c := connect(t, address, r.Core)
		return c.ReadMemory(t.Context(), &ompdv1.ReadMemoryRequest{Target: c.target, Address: at, Size: 16})
	}
	_, err := read(Policy{}, at)
	codeOf(t, "memory that nobody allowed", err, codes.PermissionDenied)
	got, err := read(Policy{Memory: true}, at)
	if err != nil || len(got.GetData()) != 16 {
		t.Errorf("%v, %v", got, err)
	}
	_, err = read(Policy{Memory: true}, 0)
	codeOf(t, "memory that is not there", err, codes.DataLoss)
}

// TestSwapped replaces a core by a link to a file elsewhere, between the check of its name and the opening.
func TestSwapped(t *testing.T) {
	top := t.TempDir()
	in, secret := filepath.Join(top, "in"), filepath.Join(top, "secret")
	path := filepath.Join(in, "core")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{path: "a core", secret: "a secret"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var read []string
	_, address := start(t, Config{Policy: Policy{Dirs: []string{in}},
		Open: func(_ context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
			for range 2 {
				f, err := means.Open(spec.GetCore())
				if err != nil {
					return nil, err
				}
				b, err := io.ReadAll(f)
				read = append(read, string(b))
				if err := errors.Join(err, f.Close(), os.Remove(path), os.Symlink(secret, path)); err != nil {
					t.Error(err)
				}
			}
			return nil, errors.New("both were opened")
		}})
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	_, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(path)})
	codeOf(t, "a link that came after the check", err, codes.NotFound)
	if len(read) != 1 || read[0] != "a core" {
		t.Errorf("%q was read", read)
	}
}

// TestNoProbing requests an existing and a missing file: the answers must not differ.
func TestNoProbing(t *testing.T) {
	top := t.TempDir()
	in, out := filepath.Join(top, "in"), filepath.Join(top, "out")
	if err := errors.Join(os.Mkdir(in, 0o700), os.Mkdir(out, 0o700), os.WriteFile(out+"/a", nil, 0o600),
		os.Symlink(out, in+"/link")); err != nil {
		t.Fatal(err)
	}
	_, address := start(t, Config{Policy: Policy{Dirs: []string{in}}})
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	for _, dir := range []string{out, in + "/link", in + "/../out", "/proc/self/root" + out,
		fmt.Sprintf("/proc/%d/root%s", os.Getppid(), out)} {
		var said [2]string
		for i, name := range []string{"/a", "/b"} {
			_, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(dir + name)})
			if err == nil {
				t.Fatalf("%s%s was opened", dir, name)
			}
			said[i] = strings.ReplaceAll(err.Error(), name, "")
		}
		if said[0] != said[1] {
			t.Errorf("%s: what is there: %s\nwhat is not: %s", dir, said[0], said[1])
		}
	}
}

// TestFindProcesses lists only the processes of allowed users.
func TestFindProcesses(t *testing.T) {
	find := func(context.Context, time.Duration) (*picture.Processes, error) {
		return &picture.Processes{Processes: []picture.Process{{PID: os.Getpid(), CPU: 1.5}}, Hidden: 2}, nil
	}
	for uid, want := range map[int]int{ownUID(): 1, ownUID() + 1: 0} {
		_, address := start(t, Config{Policy: Policy{UIDs: []int{uid}}, Processes: find})
		stream, err := ompdv1.NewInspectionServiceClient(dial(t, address)).FindProcesses(t.Context(),
			&ompdv1.FindProcessesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for range want {
			if resp, err := stream.Recv(); err != nil || resp.GetProcess().GetPid() != int64(os.Getpid()) ||
				resp.GetProcess().GetCpu() != 1.5 {
				t.Errorf("%v, %v", resp, err)
			}
		}
		if resp, err := stream.Recv(); err != nil || resp.GetProcess() != nil || resp.GetHidden() != int64(3-want) {
			t.Errorf("the last: %v, %v", resp, err)
		}
	}
	_, address := start(t, Config{})
	stream, err := ompdv1.NewInspectionServiceClient(dial(t, address)).FindProcesses(t.Context(),
		&ompdv1.FindProcessesRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	codeOf(t, "a server that does not tell", err, codes.Unimplemented)
}
