package text

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// count is "1 thread", "3 threads".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// place is "file.c:12", with the base name of the file only.
func place(file string, line int) string {
	if file == "" {
		return ""
	}
	if line == 0 {
		return filepath.Base(file)
	}
	return filepath.Base(file) + ":" + strconv.Itoa(line)
}

// where is a frame in one phrase: function and source line, or module and
// address.
func where(f inspect.Frame) string {
	name := f.Function
	switch {
	case f.Construct != "" && f.In != "":
		name = f.In + " [" + f.Construct + "]"
	case f.Construct != "":
		name += " [" + f.Construct + "]"
	case name == "" && f.PC != nil:
		name = f.PC.String()
	}
	switch {
	case f.Line != 0:
		return name + " " + place(f.File, f.Line)
	case f.Kind == inspect.FramePseudo || f.Module == "":
		return name
	}
	return name + " (" + f.Module + ")"
}

// innermostUser is the innermost frame of the program's own code.
func innermostUser(fs []inspect.Frame) (inspect.Frame, bool) {
	for _, f := range fs {
		if f.Kind == inspect.FrameUser {
			return f, true
		}
	}
	for _, f := range fs {
		if f.Kind != inspect.FramePseudo {
			return f, true
		}
	}
	return inspect.Frame{}, false
}

// numbers is a thread's number and team size at each level from the first on:
// "2/4", "1/2 > 0/3".
func numbers(t inspect.Thread) string {
	var parts []string
	for _, l := range t.Levels {
		if l.Level > 0 || len(t.Levels) == 1 {
			parts = append(parts, opt(l.ThreadNum)+"/"+opt(l.TeamSize))
		}
	}
	return strings.Join(parts, " > ")
}

// goroutine is the number of a goroutine, empty if there is none.
func goroutine(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

func opt(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// waitsOn is what a thread waits for.
func waitsOn(t inspect.Thread) string {
	if t.WaitID == nil {
		return ""
	}
	s := t.WaitKind
	if t.WaitName != "" {
		return strings.TrimSpace(s + " " + t.WaitName)
	}
	return strings.TrimSpace(s + " " + t.WaitID.String())
}

// threadName names a thread, also one that only the runtime still knows.
func threadName(t inspect.Thread) string {
	if t.LWP == 0 && t.Number != nil {
		return fmt.Sprintf("the runtime's thread %d", *t.Number)
	}
	return fmt.Sprintf("LWP %d", t.LWP)
}

// roleName is the role as the thread table has it.
func roleName(t inspect.Thread) string {
	switch {
	case t.Hidden:
		return "helper"
	case t.Role == "none":
		return "not OpenMP"
	}
	return t.Role
}

// codeName is the construct of a function: its source line if known, and the
// function.
func codeName(c *inspect.Code) string {
	if c == nil {
		return ""
	}
	name := c.Name
	if name == "" && c.Address != nil {
		name = c.Address.String()
	}
	at := place(c.File, c.Line)
	if at != "" && c.LineFrom == "call site" {
		at += " (call site)"
	}
	return strings.TrimSpace(at + "  " + name)
}

// lwps is a list of threads, cut in the middle of nowhere never: long lists say
// how many more there are.
func lwps(ids []int, most int) string {
	var b strings.Builder
	for i, id := range ids {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(ids)-most)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(id))
	}
	return b.String()
}
