package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
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
	5: "underflowed a floating-point number", 6: "got an inexact floating-point number",
	7: "performed an invalid floating-point operation",
	8: "used a subscript out of range", 14: "performed a floating-point operation that traps",
}

// fault is the verdict on a fault that is neither a null pointer nor a stack that
// is used up.
func (d *drawer) fault(f *fault) picture.Verdict {
	v := picture.Verdict{Kind: picture.VerdictCrash, Severity: picture.SeverityCrash, Certainty: picture.Certain,
		Threads: []int{f.Thread}}
	did := ""
	switch f.Signal {
	case "SIGSEGV":
		did = d.access(f, &v)
	case "SIGBUS":
		did = d.bus(f, &v)
	case "SIGFPE":
		if did = floatFaults[f.Code]; did != "" {
			v.Explanation = "Such operations raise SIGFPE only where trapping was enabled: feenableexcept, " +
				"-ffpe-trap, -fpe0, -ftrapv."
		} else {
			did = "divided an integer by zero"
			v.Explanation = "Or it divided the smallest integer of its type by -1: the processor reports both in " +
				"the same way."
		}
	case "SIGILL":
		did, v.Explanation = "executed an instruction that this processor does not support",
			"The program, or a library, was built for another processor (-march, -x), or it jumped to something "+
				"that is not code."
		if f.Trap {
			did, v.Explanation = "executed a trap that the compiler placed",
				"Compilers place a trap where execution must never arrive: __builtin_trap, __builtin_unreachable, "+
					"the end of a function that lacks its return, a failed check."
		}
	case "SIGTRAP":
		did = "hit a breakpoint with no debugger attached"
	case "SIGSYS":
		did, v.Explanation = "made a system call that is forbidden",
			"A system-call filter (seccomp) killed it: that of a container, or of a service."
	}
	v.Summary = d.who(f.Thread) + " " + did
	v.Summary += f.where()
	v.Evidence = append([]string{fmt.Sprintf("signal %s, si_code %d, at the instruction at %v", f.Signal, f.Code,
		picture.Hex(f.pc))}, v.Evidence...)
	return v
}

// access says what was wrong with an access that ended in SIGSEGV.
func (d *drawer) access(f *fault, v *picture.Verdict) string {
	if !f.hasAddress {
		v.Explanation = "The processor does not report the address: either it is not canonical (a pointer that was " +
			"overwritten, or never set), or the data is not aligned as the instruction requires."
		return "used an invalid address"
	}
	v.Evidence = append(v.Evidence, around(f))
	jumped := f.pc == f.address
	switch m := f.Mapping; {
	case m == nil && jumped:
		v.Explanation = "It called a function, or returned, to an address without code: an overwritten function " +
			"pointer or return address, or a library that was unloaded (dlclose)."
		return fmt.Sprintf("jumped to %v, where nothing is mapped,", picture.Hex(f.address))
	case m == nil:
		v.Explanation = "The pointer was never set, was overwritten, or points to memory that was unmapped, or " +
			"past the end of an array."
		return fmt.Sprintf("accessed %v, where nothing is mapped,", picture.Hex(f.address))
	case m.Access == "---":
		v.Explanation = "Memory without any access lies at the ends of stacks and heaps (guard pages), or was " +
			"protected by the program (mprotect)."
		return "accessed memory that permits no access"
	case jumped && !strings.Contains(m.Access, "x"):
		v.Explanation = "It called a function, or returned, to data: an overwritten function pointer or return address."
		return fmt.Sprintf("jumped to %v, which is not executable,", picture.Hex(f.address))
	case !strings.Contains(m.Access, "w") && f.Code == segvAccess:
		v.Explanation = "Constants, string literals and code are read-only, and so is memory that the program " +
			"protected (mprotect) or mapped for reading only."
		return "wrote to read-only memory"
	}
	return "accessed memory in a way that its protection forbids"
}

// bus says what was wrong with an access that ended in SIGBUS.
func (d *drawer) bus(f *fault, v *picture.Verdict) string {
	if f.hasAddress {
		v.Evidence = append(v.Evidence, around(f))
	}
	switch {
	case f.Code == busAlign:
		return "accessed misaligned data"
	case f.Code == busMemory || f.Code == busMemory+1:
		return "accessed faulty memory: the machine reported a hardware error"
	case f.Code == busAddress && f.Mapping != nil && f.Mapping.File != "":
		v.Explanation = "The file was truncated while it was mapped, its disk is full, or it could not be read."
		return fmt.Sprintf("accessed the mapped file %s beyond its end", f.Mapping.File)
	case f.Code == busAddress:
		v.Explanation = "No memory was left for the page: huge pages, or shared memory (/dev/shm)."
		return "accessed memory for which the system had no page"
	}
	return "accessed memory that does not exist"
}

// around says what lies at the address of an access, or near it.
func around(f *fault) string {
	s := fmt.Sprintf("it accessed address %v", picture.Hex(f.address))
	near := func(m *picture.Mapping, distance uint64, where string) string {
		if m == nil || distance >= maxNearMemory {
			return ""
		}
		return fmt.Sprintf(", %s %s %s", bytes(distance), where, mapping(*m))
	}
	if m := f.Mapping; m != nil {
		if s += ", in " + mapping(*m); f.Description != "" {
			s += ": " + f.Description
		}
		return s
	}
	s += "; nothing is mapped there"
	if m := f.Below; m != nil {
		s += near(m, f.address-uint64(m.High), "past the end of")
	}
	if m := f.Above; m != nil {
		s += near(m, uint64(m.Low)-f.address, "before")
	}
	return s
}

// mapping describes memory: [low, high) r-x of a file.
func mapping(m picture.Mapping) string {
	s := fmt.Sprintf("[%v, %v) %s", picture.Hex(m.Low), picture.Hex(m.High), m.Access)
	if m.File != "" {
		s += " of " + m.File
	}
	return s
}

// called is the verdict on a program that ended itself by abort. It is information
// where the program hung: something in it had noticed that.
func (d *drawer) called(found []picture.Verdict) []picture.Verdict {
	a := d.facts.Abort
	if a == nil || d.facts.Fault != nil || a.Component != "" {
		return nil
	}
	v := picture.Verdict{
		Kind: picture.VerdictCrash, Severity: picture.SeverityCrash, Certainty: picture.Certain,
		Threads:  []int{a.Thread},
		Summary:  fmt.Sprintf("%s called abort in %s", d.who(a.Thread), place(a.Caller)),
		Evidence: []string{"signal SIGABRT; abort is on the stack, called by the program itself"},
	}
	if slices.ContainsFunc(found, Hangs) {
		v.Severity = picture.SeverityInfo
	}
	if a.Handler != nil {
		d.sent(&v, a)
		return []picture.Verdict{v}
	}
	d.openMPPlace(&v)
	d.holdsUp(&v)
	return []picture.Verdict{v}
}

// sent says of a program that was ended by a signal from outside, whose handler called abort,
// that it did nothing wrong.
func (d *drawer) sent(v *picture.Verdict, a *picture.Abort) {
	v.Severity = picture.SeverityInfo
	v.Summary = fmt.Sprintf("a signal that was sent to the program ended it: its handler, in %s, called abort",
		place(a.Caller))
	v.Evidence = []string{"the call of abort is further in than the frame of a signal's handler, and no other is " +
		"further out"}
	if h := a.Handler; h.Sender != 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("signal %d was sent by process %d", h.Signal, h.Sender))
	}
	if f := a.Handler.Interrupted; f != nil {
		v.Explanation = fmt.Sprintf("%s was in %s when the signal came: what the program did then is no cause.",
			d.who(a.Thread), place(*f))
	}
}

// openMPPlace adds to a crash where its thread was in OpenMP terms.
func (x *index) openMPPlace(v *picture.Verdict) {
	t := x.threads[v.Threads[0]]
	if t == nil || t.Level == nil || *t.Level == 0 || t.ThreadNum == nil || t.TeamSize == nil {
		return
	}
	s := fmt.Sprintf("it was thread %d of %d of the parallel region", *t.ThreadNum, *t.TeamSize)
	if r := x.regions[t.Region]; r != nil && r.Function != nil && r.Function.Line != 0 {
		s += fmt.Sprintf(" at %s:%d", base(r.Function.File), r.Function.Line)
	}
	if k := x.tasks[t.Task]; k != nil && k.Kind == picture.TaskExplicit {
		s += ", in an explicit task " + x.madeAt(k.ID)
	}
	v.Evidence = append(v.Evidence, strings.TrimSpace(s))
}
