package live

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPerfMap bounds the size of a perf map, in bytes.
const maxPerfMap = 16 << 20

// PerfMap returns the content of the process's perf map, /tmp/perf-PID.map in its root directory: the names of
// functions that it made at run time. It is nil if the process has none, or if another user owns the file.
func (p *Process) PerfMap() []byte {
	root, err := unix.Open(procPath(p.pid, "root"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(root)
	name := fmt.Sprintf("tmp/perf-%d.map", p.insideID(p.pid))
	fd, err := unix.Openat2(root, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st, owner unix.Stat_t
	if unix.Fstat(fd, &st) != nil || unix.Stat(procPath(p.pid, "stat"), &owner) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != owner.Uid {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPerfMap))
	if err != nil {
		return nil
	}
	return text
}
