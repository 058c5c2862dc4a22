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
	Executable string      // path, as the process sees it; empty if this user may not know it
	File       fs.FileInfo // of the executable; nil if this user may not know it
	Command    []string    // the arguments, the program first
}

// List lists the processes of this machine that execute a program, by process number,
// except this process. Nothing is stopped, and no memory is read.
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
