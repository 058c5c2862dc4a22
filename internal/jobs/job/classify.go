package job

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Locate returns the file and offset of code. ok is false if they are not known.
type Locate func(pc picture.Hex) (at picture.CodePlace, ok bool)

// maxDepth is the number of a thread's innermost frames that determine its class.
const maxDepth = 64

// Classify extracts from the picture of a rank the data that it may share with others: its classes of threads,
// the call of MPI that it waits in, and the worst of its verdicts.
func Classify(pic *picture.Picture, locate Locate) Answer {
	a := Answer{Rank: -1, Member: Member{Peer: -1}, Names: map[Site]Name{}, Files: map[string]File{}}
	a.PID, a.Path = pic.Target.PID, pic.Target.Path
	if exe := pic.Target.Executable; exe != "" {
		a.Program = filepath.Base(exe)
	}
	counts := map[string]*Count{}
	for i := range pic.Threads {
		t := &pic.Threads[i]
		c := ThreadClass{State: stateOf(t), Where: a.stackSites(t, locate)}
		main := t.LWP == pic.Target.PID && t.LWP != 0
		if t.Role == picture.RoleNone && t.MPI == nil && !main {
			c = ThreadClass{Other: true, State: "other"} // the places of such threads are not shown
		}
		key := c.key()
		if counts[key] == nil {
			counts[key] = &Count{ThreadClass: c}
		}
		counts[key].Threads++
		if t.MPI != nil && (a.Call == nil || main) {
			a.setCall(t, c)
		}
	}
	for _, c := range counts {
		a.Threads = append(a.Threads, *c)
	}
	slices.SortFunc(a.Threads, compareCounts)
	if pic.Target.Kind == picture.TargetCore && pic.Target.Signal != "" && isFatal(pic.Target.Signal) {
		a.Condition, a.Why = Crashed, pic.Target.Signal
	}
	a.Finding = worstFinding(pic.Verdicts)
	return a
}

// isFatal reports whether a signal means that the program did something wrong: signals that users send to get a
// core do not.
func isFatal(signal string) bool {
	return slices.Contains([]string{"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP"}, signal)
}

// setCall sets the call of the rank to that of a thread.
func (a *Answer) setCall(t *picture.Thread, c ThreadClass) {
	m := t.MPI
	a.Call = &Call{
		Routine: m.Routine, Communicator: m.Communicator, Size: m.Size, Count: m.Count, Type: m.Type, Op: m.Op,
		AnySource: m.AnySource,
		Unknown:   strings.Join(m.Lost, ", "),
	}
	if n := len(c.Where); n > 1 {
		a.Call.Site = c.Where[n-2]
	}
	a.Peer, a.Tag = -1, m.Tag
	if m.Peer != nil {
		if isRooted(m.Routine) {
			a.Call.Root = m.Peer
		} else {
			a.Peer = *m.Peer
		}
	}
}

func stateOf(t *picture.Thread) string {
	switch {
	case t.MPI != nil:
		return string(picture.StateMPI)
	case t.Role == picture.RoleIdle:
		return string(picture.StateIdle)
	case t.State == nil:
		return "none"
	}
	return string(t.State.Name)
}

// stackSites returns the stack of a thread, outermost first: the program's own calls, up to the outermost
// routine of MPI.
func (a *Answer) stackSites(t *picture.Thread, locate Locate) []Site {
	var out []Site
	var last picture.Hex
	var name Name
	var inMPI Site // the routine, set after the frame that called it
	stack := t.UserStack
	for _, f := range slices.Backward(stack[:min(len(stack), maxDepth)]) {
		if routine := mpi.Routine(f.Function); routine != "" && f.Kind != picture.FramePseudo {
			return append(out, Site(routine))
		}
		if f.Kind == picture.FramePseudo {
			out = append(out, Site(f.Function))
			continue
		}
		if f.PC == nil || f.Kind != picture.FrameUser && f.Function == "" {
			continue
		}
		if inMPI != "" && *f.PC != last {
			break
		}
		if *f.PC == last && len(out) > 0 { // inlined: one place with the name of the innermost function
			name = nameOf(f)
			a.Names[out[len(out)-1]] = name
			continue
		}
		last = *f.PC
		if t.MPI != nil && t.MPI.From != nil && last == *t.MPI.From {
			inMPI = Site(t.MPI.Routine)
		}
		at, ok := locate(last)
		if !ok {
			at.File, at.Offset = f.Module, f.Offset
		}
		site := a.siteOf(at)
		name = nameOf(f)
		out, a.Names[site] = append(out, site), name
	}
	if inMPI != "" {
		out = append(out, inMPI)
	}
	return out
}

// siteOf returns the site of a place in a file.
func (a *Answer) siteOf(at picture.CodePlace) Site {
	const digits = 16 // of a build ID; further digits distinguish nothing
	short := at.File[:min(len(at.File), digits)]
	if id, err := hex.DecodeString(at.File); err == nil && len(id) > 0 && at.Path != "" {
		a.Files[short] = File{ID: at.File, Path: at.Path}
	}
	return Site(fmt.Sprintf("%s+%x", short, at.Offset))
}

func nameOf(f picture.Frame) Name {
	n := Name{Function: f.Function, Line: f.Line}
	if f.File != "" {
		n.File = filepath.Base(f.File)
	}
	switch {
	case f.Construct != "" && f.In != "":
		n.Function = f.In + " [" + f.Construct + "]"
	case n.Function == "" && f.Module != "":
		n.Function = fmt.Sprintf("%s+0x%x", f.Module, f.Offset)
	}
	return n
}

// numberWords matches the parts of a verdict that differ between ranks.
var numberWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\s*\((LWP )?(0x)?[0-9a-f]+\)|\bLWP \d+ ?`)
})

// maxSummary bounds the summary of a verdict, in bytes.
const maxSummary = 300

// worstFinding returns the worst verdict that explains why a rank makes no progress.
func worstFinding(list []picture.Verdict) *Finding {
	var out *picture.Verdict
	for i := range list {
		v := &list[i]
		if v.Severity.Rank() > picture.SeverityHang.Rank() {
			continue
		}
		if out == nil || cmp.Or(cmp.Compare(v.Severity.Rank(), out.Severity.Rank()),
			cmp.Compare(v.Certainty.Rank(), out.Certainty.Rank())) < 0 {
			out = v
		}
	}
	if out == nil {
		return nil
	}
	s := numberWords().ReplaceAllString(out.Summary, "")
	return &Finding{out.Kind, out.Certainty, out.Severity, strings.ToValidUTF8(s[:min(len(s), maxSummary)], "")}
}

func place(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}
