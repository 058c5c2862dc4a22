package dap

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// hiddenFrames is how many frames more than the client wants the debugger is asked for, as those of runtimes are
// left out: between two of the program's there are fewer.
const hiddenFrames = 64

// widen asks the debugger for a stack from its innermost frame on, if the client wants a part of it: which frames
// of the user's model these are depends on those before. The caller holds mu.
func (p *proxy) widen(q *asked, about subject, text []byte) []byte {
	var args godap.StackTraceArguments
	_ = json.Unmarshal(q.Arguments, &args)
	from, levels := max(args.StartFrame, 0), max(args.Levels, 0)
	v := p.shownNow()
	if v == nil || v.byID[about.ThreadID] == nil || from == 0 && levels == 0 {
		q.answer = func(text []byte, body span) []edit {
			if from > 0 {
				return nil // a part of the debugger's own stack, of which the parts before were shown
			}
			return p.joinStack(about.ThreadID, page{levels: levels, asked: levels}, text, body)
		}
		return text
	}
	wide := page{from: from, levels: levels}
	if levels > 0 {
		wide.asked = from + levels + hiddenFrames
	}
	at, _ := within(text, "arguments")
	var edits []edit
	for name, value := range map[string]int{"startFrame": 0, "levels": wide.asked} {
		if place, ok := members(text, at)[name]; ok {
			edits = append(edits, edit{place, []byte(strconv.Itoa(value))})
		}
	}
	q.answer = func(text []byte, body span) []edit { return p.joinStack(about.ThreadID, wide, text, body) }
	return edited(text, edits)
}

// page is a part of a stack that a client wants.
type page struct {
	from, levels int // levels is 0 for all
	asked        int // frames that the debugger was asked for, 0 for all
}

// joinStack makes the stack that a debugger tells that of the user's model. The caller holds mu.
func (p *proxy) joinStack(id int, want page, text []byte, body span) []edit {
	v := p.shownNow()
	in := members(text, body)
	list := items(text, in["stackFrames"])
	if v == nil || v.byID[id] == nil || list == nil {
		return nil
	}
	t := v.byID[id]
	j := newJoin(v, t, text, list)
	j.complete = want.asked == 0 || len(list) < want.asked
	if n, ok := in["totalFrames"]; ok && valueOf[int](text, n) <= len(list) {
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
	edits := []edit{relisted(text, in["stackFrames"], list, shown)}
	if n, ok := in["totalFrames"]; ok {
		total := len(all)
		if !j.complete {
			total += max(valueOf[int](text, n)-len(list), 0)
		}
		edits = append(edits, replaced(text, n, "totalFrames", total))
	}
	return edits
}

// nativeFrame is a frame as the debugger tells it.
type nativeFrame struct {
	element
	id   int
	pc   uint64
	name span // in text; empty if it has none
}

// join joins the debugger's frames of a thread with those of the user's model, by their addresses. The debugger's
// keep their numbers, so that it knows them; those of runtimes are left out, and what it does not have is added.
type join struct {
	v        *view
	native   []nativeFrame
	at       int // of native, those that are done
	model    []*frame
	kinds    map[uint64]picture.FrameKind // of the thread's own frames, by address
	complete bool                         // native goes to the outermost frame
	out      []element
}

func newJoin(v *view, t *thread, text []byte, list []span) *join {
	j := &join{v: v, model: v.stackOf(t), kinds: map[uint64]picture.FrameKind{}}
	for _, e := range came(text, list) {
		f := nativeFrame{element: e}
		object := members(f.text, span{0, len(f.text)})
		f.id, f.name = valueOf[int](f.text, object["id"]), object["name"]
		pc := valueOf[string](f.text, object["instructionPointerReference"])
		f.pc, _ = strconv.ParseUint(strings.ToLower(pc), 0, 64)
		j.native = append(j.native, f)
	}
	for _, f := range t.Stack {
		if f.PC != nil {
			j.kinds[uint64(*f.PC)] = f.Kind
		}
	}
	for _, f := range t.UserStack {
		if f.PC != nil && (f.LWP == 0 || f.LWP == t.LWP) && f.Kind == picture.FrameUser {
			j.kinds[uint64(*f.PC)] = f.Kind
		}
	}
	return j
}

// join makes the stack.
func (j *join) join() []element {
	if !slices.ContainsFunc(j.native, func(f nativeFrame) bool { return f.pc != 0 }) {
		return j.around()
	}
	for i := 0; i < len(j.model); i++ {
		f := j.model[i]
		if f.label != "" || f.LWP != 0 && f.LWP != f.thread.LWP {
			if !j.complete {
				break
			}
			j.rest()
			j.add(f)
			continue
		}
		if f.Kind == picture.FramePseudo || f.PC == nil {
			j.add(f)
			continue
		}
		same := 1 // inlined functions have the address of the frame that they are in
		for i+same < len(j.model) && j.model[i+same].label == "" && j.model[i+same].PC != nil &&
			*j.model[i+same].PC == *f.PC && j.model[i+same-1].Inlined {
			same++
		}
		k := j.find(uint64(*f.PC))
		switch {
		case k >= 0:
			j.until(k)
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
	j.rest()
	return j.out
}

// around puts what the debugger does not have before and after its frames, of which it tells no addresses.
func (j *join) around() []element {
	if len(j.model) > 0 && j.model[0].Kind == picture.FramePseudo {
		j.add(j.model[0])
	}
	j.rest()
	theirs := false
	for _, f := range j.model {
		if theirs = theirs || f.label != ""; theirs && j.complete {
			j.add(f)
		}
	}
	return j.out
}

// find is which of the debugger's next frames is at an address, -1 for none.
func (j *join) find(pc uint64) int {
	for k := j.at; k < len(j.native); k++ {
		if j.native[k].pc == pc {
			return k
		}
	}
	return -1
}

// until passes the debugger's frames before one: those that are known to be a runtime's are left out.
func (j *join) until(k int) {
	for ; j.at < k; j.at++ {
		if f := j.native[j.at]; !j.hidden(f) {
			j.out = append(j.out, f.element)
		}
	}
}

// rest passes the debugger's frames that are left.
func (j *join) rest() { j.until(len(j.native)) }

// hidden reports whether a frame of the debugger's is known not to be the program's.
func (j *join) hidden(f nativeFrame) bool {
	kind, known := j.kinds[f.pc]
	return known && kind != picture.FrameUser && !j.v.config.RuntimeFrames
}

// take passes the debugger's frames at an address, of which the model has some; one that the model names after its
// construct gets that name. What the debugger has more there called the body of the construct for the runtime.
func (j *join) take(model []*frame, more bool) {
	pc, last := j.native[j.at].pc, model[len(model)-1]
	for n := 0; j.at < len(j.native) && j.native[j.at].pc == pc; n++ {
		if n >= len(model) && (more || last.Construct == "") {
			return
		}
		if n < len(model) {
			j.out = append(j.out, named(j.native[j.at], model[n]))
		}
		j.at++
	}
}

// named is a frame of the debugger's with the name that the model has for a construct.
func named(native nativeFrame, f *frame) element {
	e := native.element
	if f.Construct != "" && native.name != (span{}) {
		e.text = edited(e.text, []edit{replaced(e.text, native.name, "name", f.name())})
	}
	return e
}

// add adds a frame that the debugger does not have.
func (j *join) add(f *frame) { j.out = append(j.out, addition(j.v.show(f))) }
