package dap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"
)

// omp is the prefix of the names of a thread's data: $omp.thread_num.
const omp = "$omp."

// command is the first word of a verb of the command line in the console.
const command = "omp"

// evaluate evaluates an expression of the console, of a watch, or under the pointer.
func (a *adapter) evaluate(
	ctx context.Context, args godap.EvaluateArguments,
) (body godap.EvaluateResponseBody, err error) {
	words := strings.Fields(args.Expression)
	switch {
	case len(words) == 0:
		return body, nil
	case words[0] == command:
		body.Result, err = a.runVerb(ctx, words[1:])
		return body, err
	}
	n, err := a.find(ctx, strings.TrimSpace(args.Expression), args.FrameId)
	if err != nil {
		return body, err
	}
	return godap.EvaluateResponseBody{
		Result: n.value, Type: n.typ, MemoryReference: n.memory,
		VariablesReference: a.view.refer(n), IndexedVariables: n.count,
		PresentationHint: &godap.VariablePresentationHint{Kind: n.kind, Attributes: []string{"readOnly"}},
	}, nil
}

// runVerb runs a verb on the target.
func (a *adapter) runVerb(ctx context.Context, words []string) (string, error) {
	if len(words) == 0 {
		words = []string{"report"}
	}
	if words[0] == "help" {
		return help(a.config.Verbs), nil
	}
	if !slices.Contains(a.config.Verbs, words[0]) {
		return "", fmt.Errorf("omp %s: it must be one of %s", words[0], strings.Join(a.config.Verbs, ", "))
	}
	if words[0] == verbProfile {
		return "", a.startProfile(ctx, words[1:])
	}
	t, err := a.opened()
	if err != nil {
		return "", err
	}
	out, err := a.config.Verb(ctx, t, words)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return strings.TrimRight(out, "\n"), err
}

// help returns the text that lists the possible expressions.
func help(verbs []string) string {
	text := "omp VERB [FLAGS]: " + strings.Join(verbs, ", ") + "\n"
	if slices.Contains(verbs, verbProfile) {
		text += "omp profile 10s: where the time of the process goes in the next 10 s; other requests are answered " +
			"meanwhile\n"
	}
	return text +
		omp + "NAME: data of the selected thread, such as " + omp + "thread_num\n" +
		"anything else: an expression in the selected frame: variables, also global ones, . -> [] * & @ casts, " +
		"sizeof, arithmetic, comparisons; in Fortran % and (i,j)"
}

// find finds the value of an expression in a frame; without a frame, in the first thread.
func (a *adapter) find(ctx context.Context, expression string, frameID int) (node, error) {
	t, f := a.view.byID[a.view.firstThread()], a.view.shown[frameID]
	if frameID != 0 {
		if f == nil {
			return node{}, errOld("frame", frameID)
		}
		t = f.thread
	}
	if name, ok := strings.CutPrefix(expression, omp); ok && t != nil {
		for _, n := range a.view.facts(t) {
			if n.name == name {
				return n, nil
			}
		}
		return node{}, fmt.Errorf("the thread has no %s", expression)
	}
	if f != nil && f.PC != nil {
		return a.findVariable(ctx, expression, f)
	}
	return node{}, fmt.Errorf("%q is unknown here; `omp help` lists the possible expressions", expression)
}

// facts returns the named data of a thread.
func (v *view) facts(t *thread) []node { return fields(t.Thread, omp, "stack", "user_stack") }

// completions completes a partial expression in the console.
func (a *adapter) completions(
	_ context.Context, args godap.CompletionsArguments,
) (body godap.CompletionsResponseBody, err error) {
	typed := []rune(args.Text)
	column := args.Column
	if a.client.LinesStartAt1 { // columns are counted like lines
		column--
	}
	typed = typed[:min(max(column, 0), len(typed))]
	start := len(typed)
	for start > 0 && typed[start-1] != ' ' {
		start--
	}
	before, word := strings.TrimSpace(string(typed[:start])), string(typed[start:])
	body.Targets = []godap.CompletionItem{}
	for _, w := range a.words(before, args.FrameId) {
		if strings.HasPrefix(w, word) {
			body.Targets = append(body.Targets, godap.CompletionItem{
				Label: w, Text: w, Type: "keyword", Start: start, Length: len([]rune(word)),
			})
		}
	}
	return body, nil
}

// words returns the possible continuations of a text.
func (a *adapter) words(before string, frameID int) []string {
	switch before {
	case command:
		return append([]string{"help"}, a.config.Verbs...)
	case "":
	default:
		return nil
	}
	out := []string{command}
	t := a.view.byID[a.view.firstThread()]
	if f := a.view.shown[frameID]; f != nil {
		t = f.thread
	}
	if t != nil {
		for _, n := range a.view.facts(t) {
			out = append(out, omp+n.name)
		}
	}
	return out
}
