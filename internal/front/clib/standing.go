package clib

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// standing reports whether the program has run since the last question; the interface has no such call. The
// debugger may have opened any target. The answer is known only for a process of this machine that the debugger
// itself traces, and that is certainly the program with the target's memory. It follows from the CPU time of that
// process. Writes by the debugger into a stopped program are seen after it has run again.
type standing struct {
	debugger int   // process that loaded the library; 0 if it is not known
	clock    int32 // clock of the program's CPU time; 0 if it is not known
	last     unix.Timespec
}

// stood reports whether the program is known not to have run since the last call.
func (s *standing) stood() bool {
	if s.clock == 0 {
		return false
	}
	was := s.last
	if err := unix.ClockGettime(s.clock, &s.last); err != nil {
		s.clock = 0
		return false
	}
	return s.last == was
}

// finest is the largest step of the clock, in nanoseconds: a thread that runs uses more than some steps.
const finest = 100

// find looks for the program with this auxiliary vector.
func (s *standing) find(auxv map[uint64]uint64) {
	s.clock, s.last = 0, unix.Timespec{}
	if s.debugger == 0 {
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return
	}
	tracer := []byte(fmt.Sprintf("\nTracerPid:\t%d\n", s.debugger))
	found := 0
	for _, f := range files {
		dir := filepath.Dir(f)
		status, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(status, tracer) || !maps.Equal(readAuxv(dir), auxv) {
			continue // it may have ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		var step unix.Timespec
		if clock := processClock(pid); err == nil && unix.ClockGetres(clock, &step) == nil && step.Nano() <= finest {
			s.clock = clock
			found++
		}
	}
	if found != 1 { // two processes are alike, so the program is not known
		s.clock = 0
	}
}

// processClock returns the kernel's number of the clock of a process's CPU time (CPUCLOCK_SCHED).
func processClock(pid int) int32 {
	const scheduled = 2
	return int32(^pid)<<3 | scheduled
}

// readAuxv returns the auxiliary vector of the process in a directory of /proc; nil if it cannot be read.
func readAuxv(dir string) map[uint64]uint64 {
	b, err := os.ReadFile(filepath.Join(dir, "auxv"))
	if err != nil {
		return nil
	}
	const entry = 16
	all := map[uint64]uint64{}
	for ; len(b) >= entry; b = b[entry:] {
		key := binary.NativeEndian.Uint64(b)
		if key == 0 { // AT_NULL
			break
		}
		all[key] = binary.NativeEndian.Uint64(b[8:])
	}
	return all
}

// findPeer returns the process at the other end of a socket pair, 0 if it is not known.
func findPeer(rw io.ReadWriter) int {
	f, ok := rw.(*os.File)
	if !ok {
		return 0
	}
	peer, err := unix.GetsockoptUcred(int(f.Fd()), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}
