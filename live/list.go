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

// Child is a child process.
type Child struct {
	Listed
	Numbers []int // its PID in each of its PID namespaces, the innermost last
}

// Children returns the child processes of a process that have not ended.
func Children(pid int) (list []Child) {
	files, _ := filepath.Glob(procPath(pid, "task/*/children")) // the pattern is correct
	for _, file := range files {
		b, err := readProc(file)
		if err != nil { // the thread has ended
			continue
		}
		for _, word := range strings.Fields(string(b)) {
			p, ok := listed(parseNumber(word))
			if st, err := readStatus(p.PID); ok && err == nil {
				list = append(list, Child{p, st.nsPIDs})
			}
		}
	}
	return list
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
		if p, ok := listed(pid); ok {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Listed) int { return a.PID - b.PID })
	return list
}

// listed returns process pid. It returns false for a thread of the kernel, and for a process that has ended.
func listed(pid int) (Listed, bool) {
	p := Listed{PID: pid, Command: readCmdline(pid)}
	if exe, err := os.Readlink(procPath(pid, "exe")); err == nil {
		p.Executable = strings.TrimSuffix(exe, deletedSuffix)
		p.File, _ = os.Stat(procPath(pid, "exe"))
	}
	return p, p.Executable != "" || len(p.Command) > 0
}
