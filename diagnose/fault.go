package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// Values of si_code (siginfo.h) that say more than their signal.
const (
	codeKernel    = 0x80    // a fault of which the processor gave no address
	segvAccess    = 2       // SEGV_ACCERR
	busAlign      = 1       // BUS_ADRALN
	busAddress    = 2       // BUS_ADRERR
	busMemory     = 4       // BUS_MCEERR_AR, and 5 for _AO
	maxNearMemory = 1 << 20 // farther memory says nothing about an address, in bytes
)

// floatFaults are what the codes of SIGFPE from 2 on say.
var floatFaults = map[int]string{
	2: "overflowed an integer", 3: "divided a floating-point number by zero", 4: "overflowed a floating-point number",
	5: "underflowed a floating-point number", 6: "got an inexact floating-point number", 7: "did an invalid floating-point operation",
	8: "used a subscript out of range", 14: "did a floating-point operation that traps",
}

// fault is the verdict on a fault that is neither a null pointer nor a stack that
// is used up.
func (g *graph) fault(f inspect.Fault) inspect.Verdict {
	v := inspect.Verdict{Kind: inspect.VerdictCrash, Severity: inspect.SeverityCrash, Certainty: inspect.Certain, Threads: []int{f.LWP}}
	did := ""
	switch f.Signal {
	case "SIGSEGV":
		did = g.access(f, &v)
	case "SIGBUS":
		did = g.bus(f, &v)
	case "SIGFPE":
		if did = floatFaults[f.Code]; did != "" {
			v.Explanation = "Such operations end the program only if that was asked for: feenableexcept, -ffpe-trap, -fpe0, -ftrapv."
		} else {
			did = "divided an integer by zero"
			v.Explanation = "Or it divided the smallest integer of its type by -1, which the processor does not tell apart."
		}
	case "SIGILL":
		did, v.Explanation = "came to an instruction that this processor does not have", "The program, or a library, was built for another processor (-march, -x), or it jumped to what is no code."
		if f.Trap {
			did, v.Explanation = "came to where the compiler let the program end", "Compilers put a trap where execution must not come: behind __builtin_trap, __builtin_unreachable, a function without its return, a check that failed."
		}
	case "SIGTRAP":
		did = "came to a breakpoint, and no debugger was there"
	case "SIGSYS":
		did, v.Explanation = "made a system call that is forbidden to it", "A filter of system calls (seccomp) ends programs so: that of a container, or of a service."
	}
	v.Summary = g.who(f.LWP) + " " + did
	if f.At != nil {
		v.Summary += " in " + place(*f.At)
	}
	v.Evidence = append([]string{fmt.Sprintf("signal %s, si_code %d, at the instruction at %v", f.Signal, f.Code, inspect.Hex(f.PC))}, v.Evidence...)
	return v
}

// access says what was wrong with an access that ended in SIGSEGV.
func (g *graph) access(f inspect.Fault, v *inspect.Verdict) string {
	if !f.HasAddress {
		v.Explanation = "The processor does not tell the address: it is none that memory can have (a pointer that was overwritten, or never set), or what lies there is not aligned as the instruction needs it."
		return "used an address that is none"
	}
	v.Evidence = append(v.Evidence, around(f))
	jumped := f.PC == f.Address
	switch m := f.Mapping; {
	case m == nil && jumped:
		v.Explanation = "It called a function, or returned, to an address where no code is: a function pointer or a return address that was overwritten, or the code of a library that was closed."
		return fmt.Sprintf("jumped to %v, where nothing is mapped,", inspect.Hex(f.Address))
	case m == nil:
		v.Explanation = "The pointer was never set, was overwritten, or leads to memory that was given back, or beyond the end of an array."
		return fmt.Sprintf("used memory at %v, where nothing is mapped,", inspect.Hex(f.Address))
	case m.Access == "---":
		v.Explanation = "Memory that may not be used at all lies at the ends of stacks and of heaps, or was protected by the program (mprotect)."
		return "used memory that is protected from any use"
	case jumped && !strings.Contains(m.Access, "x"):
		v.Explanation = "It called a function, or returned, to data: a function pointer or a return address that was overwritten."
		return fmt.Sprintf("jumped to %v, which is no code,", inspect.Hex(f.Address))
	case !strings.Contains(m.Access, "w") && f.Code == segvAccess:
		v.Explanation = "Constants, string literals and code may not be written to, nor may what the program protected (mprotect) or mapped for reading only."
		return "wrote to memory that may only be read"
	}
	return "used memory in a way that was not permitted"
}

// bus says what was wrong with an access that ended in SIGBUS.
func (g *graph) bus(f inspect.Fault, v *inspect.Verdict) string {
	if f.HasAddress {
		v.Evidence = append(v.Evidence, around(f))
	}
	switch {
	case f.Code == busAlign:
		return "used data that is not aligned"
	case f.Code == busMemory || f.Code == busMemory+1:
		return "used memory that is broken: the machine reported an error of its hardware"
	case f.Code == busAddress && f.Mapping != nil && f.Mapping.File != "":
		v.Explanation = "The file was made shorter while it was mapped, its disk is full, or it could not be read."
		return fmt.Sprintf("used a page of the mapped file %s that the file does not have", f.Mapping.File)
	case f.Code == busAddress:
		v.Explanation = "There was no memory left for the page: of huge pages, or of shared memory (/dev/shm)."
		return "used memory for which the system has no page"
	}
	return "used memory that is not there"
}

// around says what lies at the address of an access, or near it.
func around(f inspect.Fault) string {
	s := fmt.Sprintf("the access was to address %v", inspect.Hex(f.Address))
	near := func(m *inspect.Mapping, distance uint64, where string) string {
		if m == nil || distance >= maxNearMemory {
			return ""
		}
		return fmt.Sprintf(", %s %s %s", bytes(distance), where, mapping(*m))
	}
	if m := f.Mapping; m != nil {
		if s += ", in " + mapping(*m); f.What != "" {
			s += ": " + f.What
		}
		return s
	}
	s += "; nothing is mapped there"
	if m := f.Below; m != nil {
		s += near(m, f.Address-m.High, "behind the end of")
	}
	if m := f.Above; m != nil {
		s += near(m, m.Low-f.Address, "before")
	}
	return s
}

// mapping describes memory: [low, high) r-x of a file.
func mapping(m inspect.Mapping) string {
	s := fmt.Sprintf("[%v, %v) %s", inspect.Hex(m.Low), inspect.Hex(m.High), m.Access)
	if m.File != "" {
		s += " of " + m.File
	}
	return s
}

// called is the verdict on a program that ended itself by abort. It is information
// where the program hung: something in it had noticed that.
func (g *graph) called(found []inspect.Verdict) []inspect.Verdict {
	a, aborted := g.in.Abort()
	if _, fault := g.in.Fault(); !aborted || fault || a.By != "" {
		return nil
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictCrash, Severity: inspect.SeverityCrash, Certainty: inspect.Certain, Threads: []int{a.LWP},
		Summary:  fmt.Sprintf("%s called abort in %s", g.who(a.LWP), place(a.Caller)),
		Evidence: []string{"signal SIGABRT; abort is on the stack, called by the program itself"},
	}
	if slices.ContainsFunc(found, Hangs) {
		v.Severity = inspect.SeverityInfo
	}
	g.openMPPlace(&v)
	g.holdsUp(&v)
	return []inspect.Verdict{v}
}

// openMPPlace adds to a crash where its thread was in OpenMP terms.
func (g *graph) openMPPlace(v *inspect.Verdict) {
	t := g.threads[v.Threads[0]]
	if t == nil || t.Level == nil || *t.Level == 0 || t.ThreadNum == nil || t.TeamSize == nil {
		return
	}
	s := fmt.Sprintf("it was thread %d of %d of the parallel region", *t.ThreadNum, *t.TeamSize)
	if r := g.regions[t.Region]; r != nil && r.Function != nil && r.Function.Line != 0 {
		s += fmt.Sprintf(" at %s:%d", base(r.Function.File), r.Function.Line)
	}
	if k := g.tasks[t.Task]; k != nil && k.Kind == "explicit" {
		s += ", in an explicit task " + g.madeAt(k.ID)
	}
	v.Evidence = append(v.Evidence, strings.TrimSpace(s))
}
