package live

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listed is a process with the program that it executes.
type Listed struct {
	PID        int
	Executable string      // path, as the process sees it; empty if this user may not read it
	File       fs.FileInfo // of the executable; nil if this user may not read it
	Command    []string    // the arguments, the program first
}

// List returns the processes of this machine that execute a program, in order of process number, except this
// process. It neither stops processes nor reads their memory.
func List() (list []Listed) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is correct
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p := Listed{PID: pid, Command: readCmdline(pid)}
		if exe, err := os.Readlink(procPath(pid, "exe")); err == nil {
			p.Executable = strings.TrimSuffix(exe, deletedSuffix)
			p.File, _ = os.Stat(procPath(pid, "exe"))
		}
		if p.Executable != "" || len(p.Command) > 0 { // a thread of the kernel has neither
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Listed) int { return a.PID - b.PID })
	return list
}
