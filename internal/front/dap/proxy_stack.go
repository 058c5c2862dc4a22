package dap

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// hiddenFrames is the number of additional frames that are requested from the debugger, because those of
// runtimes are left out: between two frames of the program there are fewer.
const hiddenFrames = 64

// widen requests a stack from its innermost frame on if the client wants a part of it, because the frames of
// the user's model depend on those before. The caller holds mu.
func (p *proxy) widen(q *asked, about subject, text []byte) []byte {
	var args godap.StackTraceArguments
	_ = json.Unmarshal(q.Arguments, &args)
	from, levels := max(args.StartFrame, 0), max(args.Levels, 0)
	v := p.currentView()
	if v == nil || v.byID[about.ThreadID] == nil || from == 0 && levels == 0 {
		q.answer = func(text []byte, body span) []edit {
			if from > 0 {
				return nil // a further part of the debugger's own stack
			}
			return p.joinStack(about.ThreadID, page{levels: levels, asked: levels}, text, body)
		}
		return text
	}
	wide := page{from: from, levels: levels}
	if levels > 0 {
		wide.asked = from + levels + hiddenFrames
	}
	at, _ := findValue(text, "arguments")
	var edits []edit
	for name, value := range map[string]int{"startFrame": 0, "levels": wide.asked} {
		if place, ok := findMembers(text, at)[name]; ok {
			edits = append(edits, edit{place, []byte(strconv.Itoa(value))})
		}
	}
	q.answer = func(text []byte, body span) []edit { return p.joinStack(about.ThreadID, wide, text, body) }
	return applyEdits(text, edits)
}

// page is the part of a stack that a client wants.
type page struct {
	from, levels int // levels is 0 for all
	asked        int // number of frames requested from the debugger, 0 for all
}

// joinStack turns the debugger's stack into that of the user's model. The caller holds mu.
func (p *proxy) joinStack(id int, want page, text []byte, body span) []edit {
	v := p.currentView()
	in := findMembers(text, body)
	list := findItems(text, in["stackFrames"])
	if v == nil || v.byID[id] == nil || list == nil {
		return nil
	}
	t := v.byID[id]
	j := newJoin(v, t, text, list)
	j.complete = want.asked == 0 || len(list) < want.asked
	if n, ok := in["totalFrames"]; ok && decodeAt[int](text, n) <= len(list) {
		j.complete = true
	}
	for _, f := range j.native {
		p.stop.frames[f.id] = t
	}
	all := j.join()
	shown := all[min(want.from, len(all)):]
	if want.levels > 0 {
		shown = shown[:min(want.levels, len(shown))]
	}
	edits := []edit{replaceList(text, in["stackFrames"], list, shown)}
	if n, ok := in["totalFrames"]; ok {
		total := len(all)
		if !j.complete {
			total += max(decodeAt[int](text, n)-len(list), 0)
		}
		edits = append(edits, replaceValue(text, n, "totalFrames", total))
	}
	return edits
}

// nativeFrame is a frame of the debugger.
type nativeFrame struct {
	element
	id                 int
	pc                 uint64
	name, hint, source span // in text; empty if missing
}

// join joins the debugger's frames of a thread with those of the user's model, by their addresses. The
// debugger's frames keep their numbers, so that it recognizes them. Frames of runtimes are left out, and frames
// that it lacks are added. Frames of libraries are subtle.
type join struct {
	v         *view
	native    []nativeFrame
	at        int // number of finished frames of native
	model     []*frame
	kinds     map[uint64]picture.FrameKind // of the thread's own frames, by address
	wrappers  map[uint64]bool              // addresses in the compiler's functions around bodies of constructs
	libraries []library
	complete  bool // native ends with the outermost frame
	out       []element
}

func newJoin(v *view, t *thread, text []byte, list []span) *join {
	j := &join{v: v, model: v.buildStack(t), kinds: map[uint64]picture.FrameKind{}, wrappers: map[uint64]bool{}}
	j.libraries = v.findLibraries()
	for _, e := range receivedElements(text, list) {
		f := nativeFrame{element: e}
		object := findMembers(f.text, span{0, len(f.text)})
		f.id, f.name = decodeAt[int](f.text, object["id"]), object["name"]
		f.hint, f.source = object["presentationHint"], object["source"]
		pc := decodeAt[string](f.text, object["instructionPointerReference"])
		f.pc, _ = strconv.ParseUint(strings.ToLower(pc), 0, 64)
		j.native = append(j.native, f)
	}
	for _, f := range t.Stack {
		if f.PC != nil {
			j.kinds[uint64(*f.PC)] = f.Kind
			j.wrappers[uint64(*f.PC)] = f.Kind == picture.FrameUser && f.Construct != ""
		}
	}
	for _, f := range t.UserStack {
		if f.PC != nil && (f.LWP == 0 || f.LWP == t.LWP) {
			delete(j.wrappers, uint64(*f.PC))
			if f.Kind == picture.FrameUser {
				j.kinds[uint64(*f.PC)] = f.Kind
			}
		}
	}
	return j
}

// library is a part of the address space that contains only code of one library or runtime.
type library struct {
	module    string
	low, high uint64 // the lowest and the highest address of a frame
	kind      picture.FrameKind
}

// findLibraries returns the libraries and runtimes on the stacks of all threads. A module is contiguous, so the
// addresses between two frames of it belong to it: those of tail calls, which only debuggers show.
func (v *view) findLibraries() []library {
	if v.libraries != nil {
		return v.libraries
	}
	all := map[string]library{}
	for i := range v.pic.Threads {
		for _, f := range v.pic.Threads[i].Stack {
			if f.PC == nil || f.Module == "" {
				continue
			}
			pc := uint64(*f.PC)
			l, known := all[f.Module]
			if !known {
				l = library{f.Module, pc, pc, f.Kind}
			}
			if f.Kind == picture.FrameUser {
				l.kind = f.Kind
			}
			l.low, l.high = min(l.low, pc), max(l.high, pc)
			all[f.Module] = l
		}
	}
	v.libraries = []library{}
	for _, l := range all {
		if l.kind != picture.FrameUser {
			v.libraries = append(v.libraries, l)
		}
	}
	return v.libraries
}

// join returns the elements of the joined stack.
func (j *join) join() []element {
	if !slices.ContainsFunc(j.native, func(f nativeFrame) bool { return f.pc != 0 }) {
		return j.surround()
	}
	for i := 0; i < len(j.model); i++ {
		f := j.model[i]
		if f.label != "" || f.LWP != 0 && f.LWP != f.thread.LWP {
			if !j.complete {
				break
			}
			j.passRest()
			j.add(f)
			continue
		}
		if f.Kind == picture.FramePseudo || f.PC == nil {
			j.add(f)
			continue
		}
		same := 1 // inlined functions have the address of the frame around them
		for i+same < len(j.model) && j.model[i+same].label == "" && j.model[i+same].PC != nil &&
			*j.model[i+same].PC == *f.PC && j.model[i+same-1].Inlined {
			same++
		}
		k := j.find(uint64(*f.PC))
		switch {
		case k >= 0:
			j.passUntil(k)
			after := i + same
			j.take(j.model[i:after], after < len(j.model) && j.model[after].PC != nil && *j.model[after].PC == *f.PC)
		case !j.complete:
			i = len(j.model)
			continue
		default:
			for n := range same {
				j.add(j.model[i+n])
			}
		}
		i += same - 1
	}
	j.passRest()
	return j.out
}

// surround returns the debugger's frames, without addresses, between the added ones before and after them.
func (j *join) surround() []element {
	if len(j.model) > 0 && j.model[0].Kind == picture.FramePseudo {
		j.add(j.model[0])
	}
	j.passRest()
	theirs := false
	for _, f := range j.model {
		if theirs = theirs || f.label != ""; theirs && j.complete {
			j.add(f)
		}
	}
	return j.out
}

// find returns the index of the debugger's next frame at an address, or -1.
func (j *join) find(pc uint64) int {
	for k := j.at; k < len(j.native); k++ {
		if j.native[k].pc == pc {
			return k
		}
	}
	return -1
}

// passUntil passes the debugger's frames before index k, without those known to be a runtime's.
func (j *join) passUntil(k int) {
	for ; j.at < k; j.at++ {
		f := j.native[j.at]
		switch foreign := j.isForeign(f.pc); {
		case !foreign:
			j.out = append(j.out, f.element)
		case j.v.config.RuntimeFrames:
			j.out = append(j.out, changeFrame(f, "", true))
		}
	}
}

// passRest passes the remaining frames of the debugger.
func (j *join) passRest() { j.passUntil(len(j.native)) }

// isForeign reports whether an address is known not to be in the program's own code.
func (j *join) isForeign(pc uint64) bool {
	if kind, known := j.kinds[pc]; known {
		return kind != picture.FrameUser || j.wrappers[pc]
	}
	for _, l := range j.libraries {
		if l.low <= pc && pc <= l.high {
			return true
		}
	}
	return false
}

// take passes the debugger's frames at an address of the model. A frame that the model names after its
// construct gets that name. Further frames of the debugger at that address called the body of the construct for
// the runtime, and are left out.
func (j *join) take(model []*frame, more bool) {
	pc, last := j.native[j.at].pc, model[len(model)-1]
	here := 0
	for j.at+here < len(j.native) && j.native[j.at+here].pc == pc {
		here++
	}
	if here < len(model) && !more && (j.at+here < len(j.native) || j.complete) {
		model = model[len(model)-here:] // the debugger shows no inlined functions, or fewer
	}
	for n := 0; j.at < len(j.native) && j.native[j.at].pc == pc; n++ {
		if n >= len(model) && (more || last.Construct == "") {
			return
		}
		if n < len(model) {
			j.out = append(j.out, joinFrame(j.native[j.at], model[n]))
		}
		j.at++
	}
}

// joinFrame returns a frame of the debugger with the model's name of a construct. Frames of libraries are subtle.
func joinFrame(native nativeFrame, f *frame) element {
	name := ""
	if f.Construct != "" {
		name = f.name()
	}
	return changeFrame(native, name, f.isLibrary())
}

// changeFrame returns a frame of the debugger with another name, unless it is "". If it is subtle, editors show
// the first frame that is not.
func changeFrame(native nativeFrame, name string, subtle bool) element {
	e := native.element
	var edits []edit
	if name != "" && native.name != (span{}) {
		edits = append(edits, replaceValue(e.text, native.name, "name", name))
	}
	if subtle {
		edits = append(edits, setHint(e.text, span{0, len(e.text)}, native.hint, "subtle"))
		if source := findMembers(e.text, native.source); len(source) > 0 {
			edits = append(edits, setHint(e.text, native.source, source[hintMember], "deemphasize"))
		}
	}
	e.text = applyEdits(e.text, edits)
	return e
}

// hintMember is the name of the member that says how to show a frame or a source.
const hintMember = "presentationHint"

// setHint returns the edit that sets the hint of an object. at is the place of its value, empty if missing.
func setHint(text []byte, object, at span, hint string) edit {
	if at == (span{}) {
		return addMembers(text, object, newMember(hintMember, hint))
	}
	return replaceValue(text, at, hintMember, hint)
}

// add adds a frame that the debugger does not have.
func (j *join) add(f *frame) { j.out = append(j.out, addition(j.v.show(f))) }
