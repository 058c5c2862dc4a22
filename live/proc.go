package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxThreads bounds the threads of one process. Linux allows four million threads in all; programs
// of a hundred thousand exist.
const maxThreads = 1 << 18

// procPath returns the path of a file of process or thread id.
func procPath(id int, name string) string { return "/proc/" + strconv.Itoa(id) + "/" + name }

// procRoom is the usual maximum size of files in /proc, in bytes.
const procRoom = 2048

// readLine reads a file of one line that is not longer than buf, without a second read for the end
// of the file. The path may be relative to an open directory.
func readLine(dir int, path string, buf []byte) ([]byte, error) {
	fd, err := retryInterrupted(func() (int, error) { return unix.Openat(dir, path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	n, err := retryInterrupted(func() (int, error) { return unix.Read(fd, buf) })
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return buf[:n], nil
}

// readProc reads a whole file of /proc. There are thousands of some hundred bytes, and os.ReadFile
// makes three times as many system calls.
func readProc(path string) ([]byte, error) {
	fd, err := retryInterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, procRoom)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
		n, err := retryInterrupted(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// retryInterrupted repeats a system call until no signal interrupts it.
func retryInterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// status is the content of /proc/PID/status.
type status struct {
	name         string
	state        byte
	tgid         int
	parent       int
	tracer       int
	threads      int
	uids         [4]int // real, effective, saved, file system
	nsPIDs       []int  // its number in each PID namespace, the innermost last
	capabilities uint64 // effective
	switches     uint64 // number of context switches
	ignored      uint64 // signals that the process ignores: bit n-1 is signal n
	caught       uint64 // signals that it has handlers for
	pending      uint64 // signals that the process has not yet got
	blocked      uint64 // signals that the thread blocks
}

func readStatus(id int) (*status, error) { return readStatusFile(procPath(id, "status")) }

func readStatusFile(path string) (*status, error) {
	b, err := readProc(path)
	if err != nil {
		return nil, err
	}
	return parseStatus(b), nil
}

func parseStatus(b []byte) *status {
	st := &status{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimSpace(value)
		words := strings.Fields(value)
		switch key {
		case "Name":
			st.name = value
		case "State":
			if value != "" {
				st.state = value[0]
			}
		case "Tgid":
			st.tgid = parseNumber(value)
		case "PPid":
			st.parent = parseNumber(value)
		case "TracerPid":
			st.tracer = parseNumber(value)
		case "Threads":
			st.threads = parseNumber(value)
		case "Uid":
			for i := range min(len(words), len(st.uids)) {
				st.uids[i] = parseNumber(words[i])
			}
		case "NSpid":
			for _, w := range words {
				st.nsPIDs = append(st.nsPIDs, parseNumber(w))
			}
		case "CapEff":
			st.capabilities, _ = strconv.ParseUint(value, 16, 64)
		case "SigIgn":
			st.ignored, _ = strconv.ParseUint(value, 16, 64)
		case "SigCgt":
			st.caught, _ = strconv.ParseUint(value, 16, 64)
		case "ShdPnd":
			st.pending, _ = strconv.ParseUint(value, 16, 64)
		case "SigBlk":
			st.blocked, _ = strconv.ParseUint(value, 16, 64)
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			st.switches += uint64(parseNumber(value))
		}
	}
	return st
}

// parseNumber parses a decimal number of the kernel.
func parseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// statFields returns the fields of /proc/PID/stat starting at the state, number 3 of proc(5). The
// name before may contain any character.
func statFields(path string) ([]string, error) {
	b, err := readProc(path)
	if err != nil {
		return nil, err
	}
	fields := parseStat(b)
	if len(fields) < statLast-statState+1 {
		return nil, fmt.Errorf("%s: only %d fields", path, len(fields))
	}
	return fields, nil
}

// parseStat returns the words after the name, which ends at the last parenthesis.
func parseStat(b []byte) []string {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return nil
	}
	return strings.Fields(string(b[end+1:]))
}

// Fields of /proc/PID/stat by their numbers in proc(5).
const (
	statState      = 3
	statParent     = 4
	statGroup      = 5
	statForeground = 8 // process group in the foreground of the terminal, or -1
	statFlags      = 9
	statUser       = 14
	statSystem     = 15
	statStart      = 22
	statProcessor  = 39
	statLast       = statProcessor
)

// forkNoExec is PF_FORKNOEXEC of linux/sched.h, in the flags of a process: it was forked, and has executed no program.
const forkNoExec = 0x40

// isKernelThread distinguishes threads of the kernel from processes.
func isKernelThread(pid int) bool {
	const kthread = 0x00200000 // PF_KTHREAD of linux/sched.h
	fields, err := statFields(procPath(pid, "stat"))
	return err == nil && parseNumber(fields[statFlags-statState])&kthread != 0
}

// threadCount returns the number of threads of a process by the link count of a directory; 0
// without such a process.
func threadCount(pid int) int {
	const notThreads = 2 // links
	var st unix.Stat_t
	if unix.Stat(procPath(pid, "task"), &st) != nil {
		return 0
	}
	return int(st.Nlink) - notThreads
}

// taskIDs returns the threads of a process in the order of creation.
func taskIDs(pid int) ([]int, error) {
	dir, err := os.Open(procPath(pid, "task"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if len(names) == 0 && err == nil {
		err = unix.ESRCH
	}
	if err != nil {
		return nil, err
	}
	if len(names) > maxThreads {
		return nil, fmt.Errorf("%d threads, more than %d", len(names), maxThreads)
	}
	ids := make([]int, 0, len(names))
	for _, n := range names {
		ids = append(ids, parseNumber(n))
	}
	return ids, nil
}

// taskPath returns the path of a file of thread tid of process pid.
func taskPath(pid, tid int, name string) string {
	return procPath(pid, "task/"+strconv.Itoa(tid)+"/"+name)
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	callbacks.Mapping
	name   string // path, or a name such as [stack]
	dev    string // major:minor
	inode  uint64
	shared bool
}

// mappedPath returns the path by which root can open the mapped file, even if it was deleted.
func mappedPath(id int, m callbacks.Mapping) string {
	return procPath(id, fmt.Sprintf("map_files/%x-%x", m.Low.Offset, m.High.Offset))
}

// isFixed reports whether the mapped memory cannot change, as for code.
func (m *mapping) isFixed() bool { return !m.shared && m.Perm&callbacks.PermWrite == 0 }

// readMaps reads the mappings of a process or a thread.
func readMaps(id int) ([]mapping, error) {
	b, err := readProc(procPath(id, "maps"))
	if err != nil {
		return nil, err
	}
	list, err := parseMappings(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", procPath(id, "maps"), err)
	}
	return list, nil
}

func parseMappings(b []byte) ([]mapping, error) {
	list := make([]mapping, 0, bytes.Count(b, []byte("\n")))
	for line := range bytes.Lines(b) {
		m, err := parseMapping(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// parseMapping reads "low-high perms offset dev inode   path". The kernel
// writes a newline in a path as \012.
func parseMapping(line string) (mapping, error) {
	var m mapping
	var word [5]string
	rest := line
	for i := range word {
		word[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	low, high, _ := strings.Cut(word[0], "-")
	l, err1 := strconv.ParseUint(low, 16, 64)
	h, err2 := strconv.ParseUint(high, 16, 64)
	off, err3 := strconv.ParseUint(word[2], 16, 64)
	inode, err4 := strconv.ParseUint(word[4], 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(word[1]) != 4 || l >= h {
		return m, fmt.Errorf("mapping %q is not of the known form", line)
	}
	m.Low, m.High, m.FileOffset, m.inode = callbacks.Addr(l), callbacks.Addr(h), off, inode
	m.dev, m.name = word[3], strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n")
	for i, p := range []callbacks.Perm{callbacks.PermRead, callbacks.PermWrite, callbacks.PermExec} {
		if word[1][i] != '-' {
			m.Perm |= p
		}
	}
	m.shared = word[1][3] == 's'
	if filepath.IsAbs(m.name) && inode != 0 {
		m.File = m.name
	}
	return m, nil
}

// mappingAt returns the mapping that contains address a, or nil.
func mappingAt(list []mapping, a uint64) *mapping {
	i, found := slices.BinarySearchFunc(list, a, func(m mapping, a uint64) int {
		switch {
		case a < m.Low.Offset:
			return 1
		case a >= m.High.Offset:
			return -1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &list[i]
}

// filesOf returns the mappings of files.
func filesOf(list []mapping) []callbacks.Mapping {
	var files []callbacks.Mapping
	for _, m := range list {
		if m.File != "" {
			files = append(files, m.Mapping)
		}
	}
	return files
}

// readAuxv reads the auxiliary vector.
func readAuxv(id int) (map[uint64]uint64, error) {
	b, err := os.ReadFile(procPath(id, "auxv"))
	if err != nil {
		return nil, err
	}
	v := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		v[callbacks.Word(b[:8])] = callbacks.Word(b[8:16])
	}
	return v, nil
}

// readCmdline reads the arguments of a process, the program first.
func readCmdline(id int) []string {
	b, _ := os.ReadFile(procPath(id, "cmdline"))
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// sameNamespace reports whether process id is in this process's namespace of that kind, such as
// mnt. It returns true if that cannot be read.
func sameNamespace(id int, kind string) bool {
	mine, err1 := os.Readlink("/proc/self/ns/" + kind)
	its, err2 := os.Readlink(procPath(id, "ns/"+kind))
	return err1 != nil || err2 != nil || mine == its
}

// rootOf returns the directory under which this process finds the files of process id; empty if
// both have the same root.
func rootOf(id int) string {
	if root, err := os.Readlink(procPath(id, "root")); sameNamespace(id, "mnt") && (err != nil || root == "/") {
		return ""
	}
	return procPath(id, "root")
}

// isGone reports whether err means that a process or thread no longer exists.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
