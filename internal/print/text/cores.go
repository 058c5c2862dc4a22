package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"
)

// CoreList lists the newest cores of OpenMP programs on a machine.
type CoreList struct {
	Cores []Core `json:"cores"`
	Note  string `json:"note"` // the number of opened files, and the place of the machine's cores
}

// Core is a core of an OpenMP program.
type Core struct {
	Path       string `json:"path"`
	Time       string `json:"time"`  // of its last change, RFC 3339
	Bytes      int64  `json:"bytes"` // size of the file
	PID        int    `json:"pid,omitempty"`
	Executable string `json:"executable,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Runtime    string `json:"runtime"`
}

// Cores prints a list of cores, and the next command.
func Cores(p *Printer, list CoreList) {
	if len(list.Cores) == 0 {
		p.printLine("no core of an OpenMP program was found")
		p.printWrapped("", list.Note)
		return
	}
	t := &table{head: []string{"TIME", "SIGNAL", "PROGRAM", "PID", "SIZE", "RUNTIME", "FILE"}}
	for _, c := range list.Cores {
		pid := "-"
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		when := c.Time
		if at, err := time.Parse(time.RFC3339, c.Time); err == nil {
			when = at.Format("Jan 02 15:04:05")
		}
		t.add(when, cmp.Or(c.Signal, "-"), filepath.Base(cmp.Or(c.Executable, "-")), pid, fileSize(c.Bytes), c.Runtime,
			c.Path)
	}
	p.printTable(t)
	p.printLine("")
	p.printWrapped("", list.Note)
	p.printf("next: ompd-inspect %s", list.Cores[0].Path)
}

// fileSize returns the size of a file in MiB, or in KiB if it is smaller than one.
func fileSize(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
