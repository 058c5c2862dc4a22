package dap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Attach is the configuration with which a client attaches. docs/dap.md has its form.
type Attach struct {
	// Target is a core, the number of a process, or what else can be opened.
	Target Name `json:"target"`
	// Exe, Sysroot and DebugDirs say where the files of the target's machine are.
	Exe       string   `json:"exe"`
	Sysroot   string   `json:"sysroot"`
	DebugDirs []string `json:"debugDirs"`
	// Server is the address of a server that opens the target.
	Server string `json:"server"`
	// SourceMap says where source files are: a path that begins with a key is below its value.
	SourceMap map[string]string `json:"sourceMap"`
	// RuntimeFrames asks for the frames of runtimes, too.
	RuntimeFrames bool `json:"runtimeFrames"`
}

// Name is the name of a target, which JSON may have as a number.
type Name string

// UnmarshalJSON takes a string or a number.
func (n *Name) UnmarshalJSON(b []byte) error {
	var number json.Number
	if json.Unmarshal(b, &number) == nil {
		*n = Name(number)
		return nil
	}
	return json.Unmarshal(b, (*string)(n))
}

// debuggee is what is open for a client.
type debuggee struct {
	attachment Attach
	target     *session.Target
	held       bool // a process that stands still until it is let go on
	looks      int
	program    Program // that was started for the client; nil without
	dying      func()  // lets a process of it die that is about to; nil without
}

// close ends the use of the target, and the program that was started.
func (d *debuggee) close() error {
	err := d.closeTarget()
	d.proceed()
	if d.program != nil {
		err = errors.Join(err, d.program.Close())
		d.program = nil
	}
	return err
}

// closeTarget ends the use of the target, which runs on if it can.
func (d *debuggee) closeTarget() error {
	if d.target == nil {
		return nil
	}
	var err error
	if d.held {
		err = d.target.Resume()
	}
	err = errors.Join(err, d.target.Close())
	d.target, d.held = nil, false
	return err
}

// attach opens the target and looks at it.
func (a *adapter) attach(ctx context.Context, args Attach) (_ *nothing, err error) {
	switch {
	case a.phase == attached:
		return nil, errors.New("attach: a target is open; one session has one")
	case args.Target == "":
		return nil, errors.New(`attach: which target? "target" is a core file or the number of a process`)
	}
	a.attachment = args
	if a.target, err = a.config.Open(a.life, args); err != nil {
		return nil, err
	}
	if err := a.look(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.phase = attached
	a.later(a.begin)
	return nil, nil
}

// whole is what a look asks for.
func whole() session.Question {
	q := session.Report()
	q.Native, q.ICVs = true, true
	return q
}

// look looks at the target; what was shown before is not valid any more.
func (a *adapter) look(ctx context.Context) error {
	pic, err := a.ask(ctx, whole())
	if err != nil {
		return err
	}
	a.looks++
	a.view = newView(pic, a.attachment, a.client, &a.ids)
	a.view.recorded = a.target.LastEvents
	return nil
}

// ask asks the target a question of its own.
func (a *adapter) ask(ctx context.Context, q session.Question) (*picture.Picture, error) {
	t, err := a.opened()
	if err != nil {
		return nil, err
	}
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.Picture, answer.Close()
}

// only is the question for parts of one thread.
func only(lwp int, parts inspect.Parts) session.Question {
	return session.Question{Parts: parts, Only: inspect.Only{LWP: lwp}, Budget: session.DefaultBudget}
}

// begin tells the client what there is to see, once it is attached and has said that it is
// ready. Which of the two comes first is the client's choice.
func (a *adapter) begin() {
	if a.begun || !a.ready || a.phase != attached {
		return
	}
	a.begun = true
	about := a.view.pic.Target
	method := "attach"
	if a.program != nil {
		method = "launch"
	}
	a.tell("process", godap.ProcessEventBody{
		Name: cmp.Or(about.Executable, about.Name()), SystemProcessId: about.PID,
		IsLocalProcess: about.Kind == picture.TargetProcess, StartMethod: method, PointerSize: pointerBits,
	})
	if a.program != nil {
		return
	}
	a.tell(eventChanged, a.changed())
	a.stopped()
}

// pointerBits is the size of an address of all architectures that can be looked at.
const pointerBits = 64

// stopped tells the client that the target stands still for it, and why.
func (a *adapter) stopped() {
	v := a.view
	a.say(console, v.header())
	if a.runs() && !a.held {
		a.say(console, "it runs on: what is shown is of one moment. `pause` looks again and holds it")
	}
	body := godap.StoppedEventBody{
		Reason: "pause", AllThreadsStopped: true, ThreadId: v.first(), Description: v.header(),
	}
	if reason, ok := v.reason(); ok {
		a.say(important, reason.output())
		body.Reason, body.Description, body.Text = "exception", reason.title, reason.text
	}
	for _, w := range v.pic.Warnings {
		a.say(console, "! "+w)
	}
	a.tell("stopped", body)
}

// reason is why a target stands still, in the words for a person.
type reason struct {
	id      string // the kind of the verdict, or the signal
	title   string // such as DEADLOCK
	text    string // with whom it is about: "DEADLOCK: threads 0 and 1"
	verdict *picture.Verdict
}

// output is the reason as the console shows it.
func (r *reason) output() string {
	if r.verdict == nil {
		return r.text
	}
	v := r.verdict
	lines := []string{fmt.Sprintf("%s  %s (%s)", r.title, v.Summary, v.Certainty)}
	if v.Explanation != "" {
		lines = append(lines, v.Explanation)
	}
	if v.Fix != "" {
		lines = append(lines, "fix: "+v.Fix)
	}
	return strings.Join(append(lines, "`omp report` shows all"), "\n")
}

// reason is the worst verdict of a hang or a crash, or else the signal that ended the
// program.
func (v *view) reason() (*reason, bool) {
	for i := range v.pic.Verdicts {
		if w := &v.pic.Verdicts[i]; w.Severity == picture.SeverityCrash || diagnose.Hangs(*w) {
			return v.reasonOf(w), true
		}
	}
	if t := v.pic.Target; t.Signal != "" {
		text := t.Signal
		if t.CrashedLWP != 0 {
			text += ": " + v.who([]int{t.CrashedLWP})
		}
		return &reason{id: t.Signal, title: t.Signal, text: text}, true
	}
	return nil, false
}

// reasonOf is a verdict as a reason.
func (v *view) reasonOf(w *picture.Verdict) *reason {
	title := cmp.Or(diagnose.Heading(w), strings.ToUpper(string(w.Kind)))
	text := title
	if len(w.Threads) > 0 {
		text += ": " + v.who(w.Threads)
	}
	return &reason{id: string(w.Kind), title: title, text: text, verdict: w}
}

// exceptionInfo says why it stands still: of the verdicts on a thread the worst, or what
// the whole stands still for.
func (v *view) exceptionInfo(
	_ context.Context, args godap.ExceptionInfoArguments,
) (body godap.ExceptionInfoResponseBody, err error) {
	r, ok := v.reasonFor(args.ThreadId)
	if !ok {
		return body, errors.New("nothing is wrong that could be told")
	}
	body = godap.ExceptionInfoResponseBody{ExceptionId: r.id, Description: r.text, BreakMode: "always"}
	if w := r.verdict; w != nil {
		evidence := strings.Join(evidence(w), "\n")
		body.Description = w.Summary
		body.Details = &godap.ExceptionDetails{
			Message: strings.TrimSpace(w.Explanation + "\nfix: " + w.Fix), TypeName: r.title,
			FullTypeName: fmt.Sprintf("%s (%s)", w.Kind, w.Certainty), StackTrace: evidence,
		}
	}
	return body, nil
}

// evidence is what a verdict follows from, one line each.
func evidence(w *picture.Verdict) []string {
	lines := append([]string(nil), w.Evidence...)
	for _, s := range w.Cycle {
		lines = append(lines, fmt.Sprintf("LWP %d waits for %s %s, held by LWP %d: %s",
			s.Thread, s.WaitsFor.Kind, s.WaitsFor.Name, s.HeldBy, s.HeldEvidence))
	}
	return lines
}

// reasonFor is the reason for one thread.
func (v *view) reasonFor(id int) (*reason, bool) {
	t := v.byID[id]
	for i := range v.pic.Verdicts {
		w := &v.pic.Verdicts[i]
		for _, lwp := range w.Threads {
			if t != nil && t.LWP == lwp && w.Severity.Rank() <= picture.SeverityHang.Rank() {
				return v.reasonOf(w), true
			}
		}
	}
	return v.reason()
}
