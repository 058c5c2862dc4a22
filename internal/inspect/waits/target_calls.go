package waits

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TargetConstruct returns the innermost target construct that n executes or waits for, nil if there is none.
func (wf *Finder) TargetConstruct(n *teams.Thread) *picture.TargetConstruct {
	return wf.native.targetConstruct(n)
}

// targetConstruct finds the innermost target construct on the stack of n.
func (nw *nativeWaits) targetConstruct(n *teams.Thread) *picture.TargetConstruct {
	if t, known := nw.targets[n]; known {
		return t
	}
	t := nw.findTarget(n)
	nw.targets[n] = t
	return t
}

// findTarget searches the stack of n, innermost frame first, for a call by which the program executes a target
// construct, or for the function of a target region.
func (nw *nativeWaits) findTarget(n *teams.Thread) *picture.TargetConstruct {
	st := n.Stack()
	inner := -1 // the last frame of the program before frame i
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		if inner >= 0 && inner == i-1 { // called by frame i itself
			if name, _ := nw.code.Symbols.Linkage(st.Frames[inner].LookupPC()); isRegion(name) {
				t := nw.hostConstruct(st, i, name, "the program called the region's function itself: no device "+
					"executes it")
				nw.nameRegion(t, st, inner, name)
				return t
			}
		}
		if t := nw.inlinedTarget(st, i); t != nil {
			return t
		}
		if i > 0 && inner != i-1 {
			function := nw.code.CalledIn(f)
			if c, ok := rtl.TargetCallOf(function); ok {
				return nw.describeTarget(st, i, inner, function, c)
			}
		}
		inner = i
	}
	return nil
}

// hostConstruct returns a target region that the thread executes on the host. Frame i contains or has called the
// region's function with the given name.
func (nw *nativeWaits) hostConstruct(st *stacks.Stack, i int, name, evidence string) *picture.TargetConstruct {
	t := &picture.TargetConstruct{Construct: "target", Executes: true, OnHost: true, Evidence: evidence}
	if _, _, ok := nw.entryTable(st.Frames[i].LookupPC()); !ok {
		t.HostReason = "the program has no code for devices: it was not compiled for any (-fopenmp-targets)"
		return t
	}
	nw.addRequest(t, st, i, name)
	return t
}

// addRequest adds the call by which frame i has asked the library to execute a region on a device, if it has done so on
// all paths to its position, and executes the region's function itself since: the library has refused. Without such a
// call, an if clause has selected the host.
func (nw *nativeWaits) addRequest(t *picture.TargetConstruct, st *stacks.Stack, i int, name string) {
	code := nw.flows.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return
	}
	at := nw.flows.PointIn(st, i)
	truth, by := code.Holds(at, func(s flow.CallSite) flow.Effect {
		if c, ok := rtl.TargetCallOf(s.Name); ok && c.Kind == picture.WaitDevice {
			return flow.Sets
		}
		return flow.NoEffect
	})
	if truth != flow.Yes || len(by) == 0 {
		return
	}
	var device uint64
	for n, s := range by {
		c, _ := rtl.TargetCallOf(s.Name)
		if max(c.Region, c.Device) >= len(s.Args) {
			return
		}
		id, _, ok := code.Value(s, s.Args[c.Region], at)
		if !ok || !nw.isRegionID(st.Frames[i].LookupPC(), id, name) {
			return
		}
		v, _, ok := code.Value(s, s.Args[c.Device], at)
		if !ok || n > 0 && v != device {
			return
		}
		device = v
		t.Call = s.Name
	}
	setDevice(t, device)
	t.Evidence = t.Call + " has returned without executing the region, and " + t.Evidence
}

// isRegionID reports whether an address identifies the region with the given function, in the module with the code at
// pc.
func (nw *nativeWaits) isRegionID(pc, id uint64, name string) bool {
	got := strings.TrimSuffix(strings.TrimPrefix(nw.data.SymbolName(id), "."), ".region_id")
	if !isRegion(got) {
		got = nw.entryName(pc, id)
	}
	return got != "" && got == strings.TrimSuffix(name, "_debug__")
}

// inlinedTarget returns the target region whose function for the host is inlined in frame i, nil if there is none. The
// functions for devices that are the host are inlined in regions, too.
func (nw *nativeWaits) inlinedTarget(st *stacks.Stack, i int) *picture.TargetConstruct {
	pc := st.Frames[i].LookupPC()
	fs := nw.code.NativeNames(pc, stacks.KindUser)
	at := slices.IndexFunc(fs, func(f symbolize.Frame) bool { return f.Inlined && isRegion(f.Linkage) })
	if at < 0 {
		return nil
	}
	if name, _ := nw.code.Symbols.Linkage(pc); isRegion(name) {
		return nil
	}
	t := nw.hostConstruct(st, i, fs[at].Linkage, "the thread is in the region's function for the host, which is "+
		"inlined: no device executes it")
	nw.nameRegion(t, st, -1, fs[at].Linkage)
	t.File = fs[at].File
	return t
}

// isRegion reports whether clang gave the name to a target region's function itself, not to a part of it.
func isRegion(name string) bool {
	_, _, ok := symbolize.TargetRegion(name)
	return ok && !strings.Contains(name, ".omp_outlined")
}

// describeTarget describes the construct that frame caller executes by a call. The thread executes the region itself if
// the next frame of the program inwards, inner, is the region's function, or if a plugin calls that function, which has
// no frame if it ended in a tail call. It returns nil if inner is another function: the library calls the program for
// other reasons, too.
func (nw *nativeWaits) describeTarget(st *stacks.Stack, caller, inner int, function string,
	c rtl.TargetCall) *picture.TargetConstruct {
	t := &picture.TargetConstruct{Construct: c.Construct(), Call: function}
	nw.readDevice(t, st, caller, c)
	switch {
	case c.Kind == picture.WaitDevice && !c.Fallback && nw.calledByPlugin(st, inner, caller):
		t.Executes = true
		t.Evidence = "the plugin for the host has called the region's function on this thread"
		if inner >= 0 {
			if name, _ := nw.code.Symbols.Linkage(st.Frames[inner].LookupPC()); !isRegion(name) {
				inner = -1
			}
		}
	case inner < 0 && c.Fallback: // the runtime may wait for other things in it
		return nil
	case inner < 0:
		t.Evidence = "its stack is in the offloading library, in a call of " + function
	case c.Fallback:
		entry, ok := nw.argument(st, caller, c.Region)
		low, _, bounds := nw.code.Unwinder.FunctionBounds(st.Frames[inner].LookupPC())
		if !ok || !bounds || entry != low {
			return nil
		}
		t.Executes, t.OnHost = true, true
		t.Evidence = function + " has called the region's function on this thread: no device executes it"
	default:
		name, _ := nw.code.Symbols.Linkage(st.Frames[inner].LookupPC())
		if !isRegion(name) || c.Kind != picture.WaitDevice {
			return nil
		}
		t.Executes = true
		t.Evidence = function + " has called the region's function on this thread"
	}
	nw.nameTarget(t, st, caller, inner, c)
	return t
}

// calledByPlugin reports whether a plugin for the host has called a region between frames inner and caller of a stack.
// Plugins use libffi for target regions alone, and only compiled code forks parallel regions. Since LLVM 19, libffi is
// a part of the library.
func (nw *nativeWaits) calledByPlugin(st *stacks.Stack, inner, caller int) bool {
	return slices.ContainsFunc(st.Frames[inner+1:caller], func(f unwind.Frame) bool {
		if f.Module == nil || rtl.IsForeignCaller(f.Module.Path) {
			return f.Module != nil
		}
		name, _, _ := nw.code.Symbols.Exported(f.LookupPC())
		kind, _ := rtl.ForkCallOf(name)
		return kind == rtl.ForkMakes
	})
}

// Numbers of devices that compilers pass for none: the default device, and the host by GNU's compilers.
const (
	defaultDevice = -1
	maxDevice     = 1 << 16 // more than any machine has: other numbers are no devices
)

// readDevice reads the number of the device that frame caller passed.
func (nw *nativeWaits) readDevice(t *picture.TargetConstruct, st *stacks.Stack, caller int, c rtl.TargetCall) {
	if v, ok := nw.argument(st, caller, c.Device); ok {
		setDevice(t, v)
	}
}

// setDevice sets the device to the number that the program passed.
func setDevice(t *picture.TargetConstruct, v uint64) {
	switch number := int(int32(v)); {
	case number == defaultDevice:
		t.DefaultDevice = true
	case number >= 0 && number < maxDevice:
		t.Device = &number
	}
}

// argument returns integer argument i of the call that frame caller of a stack executes.
func (nw *nativeWaits) argument(st *stacks.Stack, caller, i int) (uint64, bool) {
	if v, ok := nw.code.Argument(st.Frames[caller].PC, i, st.Frames[caller].Registers); ok {
		return v, true
	}
	return nw.flows.Argument(st, caller, i)
}

// nameTarget adds the names and the place of a construct: those of its region's function, else those of the call.
func (nw *nativeWaits) nameTarget(t *picture.TargetConstruct, st *stacks.Stack, caller, inner int, c rtl.TargetCall) {
	call := nw.code.InnermostFrame(st.Frames[caller], st.Kinds[caller])
	t.Function = cmp.Or(call.In, call.Function)
	if t.File = call.File; !call.Near && c.Region < 0 { // a region's call may have the line of the function
		t.Line = call.Line
	}
	switch {
	case inner >= 0:
		name, _ := nw.code.Symbols.Linkage(st.Frames[inner].LookupPC())
		nw.nameRegion(t, st, inner, name)
	case c.Region >= 0:
		id, ok := nw.argument(st, caller, c.Region)
		if !ok {
			return
		}
		name := strings.TrimSuffix(strings.TrimPrefix(nw.data.SymbolName(id), "."), ".region_id")
		if !isRegion(name) {
			name = nw.entryName(st.Frames[caller].LookupPC(), id)
		}
		if isRegion(name) {
			nw.nameRegion(t, st, -1, name)
		}
	}
}

// nameRegion adds the names and the place of the region with the given function, which frame inner executes, -1 if none
// does.
func (nw *nativeWaits) nameRegion(t *picture.TargetConstruct, st *stacks.Stack, inner int, name string) {
	if function, line, ok := symbolize.TargetRegion(name); ok { // the file is that of the function's code
		t.Function, t.Kernel = symbolize.Demangle(function), strings.TrimSuffix(name, "_debug__")
		t.Line = line
	}
	if inner < 0 {
		return
	}
	f := st.Frames[inner]
	entry := nw.code.FunctionEntry(f)
	if entry == 0 {
		return
	}
	file, line, err := nw.code.Symbols.DeclLine(entry)
	if err == nil && line != 0 {
		t.File = file
		if t.Kernel == "" {
			t.Line = line
		}
	}
}

// targetWait returns the wait of n for a device, in a target construct that n does not execute itself.
func (nw *nativeWaits) targetWait(n *teams.Thread) (wait, bool) {
	t := nw.targetConstruct(n)
	if t == nil || t.Executes {
		return wait{}, false
	}
	c, _ := rtl.TargetCallOf(t.Call)
	return wait{Wait: picture.Wait{Kind: c.Kind, Name: t.Place(), Evidence: t.Evidence}}, true
}

// entryForm is a form of clang's table of target regions and variables.
type entryForm struct {
	section string
	size    uint64 // of an entry
	id      uint64 // offset of the address of the region's identifier; that of its name follows
	bytes   uint64 // size of the table
}

// entryForms are those of clang: an entry had the addresses first, until LLVM 21 put a version and a kind in front.
var entryForms = [...]entryForm{
	{section: "omp_offloading_entries", size: 32, id: 0},
	{section: "llvm_offload_entries", size: 56, id: 16},
}

const (
	maxEntries   = 1 << 16 // more than the target regions of any program
	maxEntryName = 1 << 12 // bytes
)

// entryName returns the name of the region with the identifier at address id, by the table of the module with the code
// at pc; "" if the table does not have it.
func (nw *nativeWaits) entryName(pc, id uint64) string {
	low, form, ok := nw.entryTable(pc)
	if !ok {
		return ""
	}
	table := make([]byte, min(form.bytes, maxEntries*form.size)/form.size*form.size)
	if nw.target.ReadMemory(callbacks.Addr(low), table) != nil {
		return ""
	}
	for ; len(table) > 0; table = table[form.size:] {
		if callbacks.Word(table[form.id:][:8]) != id {
			continue
		}
		name, err := layout.ReadString(nw.target, callbacks.Addr(callbacks.Word(table[form.id+8:][:8])), maxEntryName)
		if err != nil {
			return ""
		}
		return name
	}
	return ""
}

// entryTable returns the address of the table of target regions in the module with the code at pc, and its form.
func (nw *nativeWaits) entryTable(pc uint64) (low uint64, form entryForm, ok bool) {
	for _, form := range entryForms {
		if low, size, ok := nw.code.Symbols.SectionAt(pc, form.section); ok {
			form.bytes = size
			return low, form, true
		}
	}
	return 0, entryForm{}, false
}
