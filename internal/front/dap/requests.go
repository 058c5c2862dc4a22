package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// handlers maps commands to their handlers. Clients may send some requests without checking the adapter's
// capabilities, such as those for breakpoints: these are answered, too.
var handlers = sync.OnceValue(func() map[string]handler {
	return map[string]handler{
		"initialize":              newHandler(fresh, (*adapter).initialize),
		"attach":                  newHandler(initialized, (*adapter).attach),
		"launch":                  newHandler(initialized, (*adapter).launch),
		"terminate":               newHandler(attach, (*adapter).terminate),
		"configurationDone":       newHandler(initialized, (*adapter).configurationDone),
		"disconnect":              newHandler(fresh, (*adapter).disconnect),
		"cancel":                  newHandler(fresh, answerCancel),
		"setBreakpoints":          newHandler(initialized, setBreakpoints),
		"setFunctionBreakpoints":  newHandler(initialized, setFunctionBreakpoints),
		"setExceptionBreakpoints": newHandler(initialized, setExceptionBreakpoints),

		"threads":       viewHandler((*view).threads),
		"stackTrace":    viewHandler((*view).stackTrace),
		"scopes":        newHandler(attach, (*adapter).scopes),
		"variables":     viewHandler((*view).variables),
		"exceptionInfo": viewHandler((*view).exceptionInfo),
		"evaluate":      newHandler(attach, (*adapter).evaluate),
		"completions":   newHandler(attach, (*adapter).completions),
		"loadedSources": viewHandler((*view).loadedSources),
		"modules":       newHandler(attach, (*adapter).modules),
		"readMemory":    newHandler(attach, (*adapter).readMemory),
		"disassemble":   newHandler(attach, (*adapter).disassemble),

		"pause":          newHandler(attach, (*adapter).pause),
		"continue":       newHandler(attach, (*adapter).continueProcess),
		requestLook:      newHandler(attach, (*adapter).lookAgain),
		requestPicture:   viewHandler((*view).picture),
		requestRegions:   viewHandler((*view).regions),
		requestWaitGraph: viewHandler((*view).waitGraph),

		"next":     newHandler(attach, refuseStep),
		"stepIn":   newHandler(attach, refuseStep),
		"stepOut":  newHandler(attach, refuseStep),
		"stepBack": newHandler(attach, refuseStep),
	}
})

// greeting contains the client's arguments of initialize.
type greeting struct {
	LinesStartAt1            bool `json:"linesStartAt1"`
	SupportsInvalidatedEvent bool `json:"supportsInvalidatedEvent"`
	SupportsVariableType     bool `json:"supportsVariableType"`
	SupportsMemoryReferences bool `json:"supportsMemoryReferences"`
}

// UnmarshalJSON sets the defaults of missing members.
func (g *greeting) UnmarshalJSON(b []byte) error {
	type plain greeting
	p := plain{LinesStartAt1: true}
	err := json.Unmarshal(b, &p)
	*g = greeting(p)
	return err
}

// initialize returns the capabilities of this adapter.
func (a *adapter) initialize(_ context.Context, c greeting) (godap.Capabilities, error) {
	if a.phase != fresh {
		return godap.Capabilities{}, errors.New("initialize was sent before")
	}
	a.client, a.phase = c, initialized
	a.addDeferred(func() { a.quiet = time.After(announceDelay) })
	return godap.Capabilities{
		SupportsConfigurationDoneRequest: true,
		SupportsEvaluateForHovers:        true,
		SupportsCompletionsRequest:       true,
		CompletionTriggerCharacters:      []string{" ", ".", "$"},
		SupportsModulesRequest:           true,
		SupportsLoadedSourcesRequest:     true,
		SupportsExceptionInfoRequest:     true,
		SupportsDelayedStackTraceLoading: true,
		SupportsReadMemoryRequest:        true,
		SupportsDisassembleRequest:       true,
		SupportsCancelRequest:            true,
		SupportsTerminateRequest:         true,
	}, nil
}

// announceDelay is the time after the answer to initialize until the event "initialized" is sent, if no request comes
// earlier. A client that gets both at once may handle the event before it has stored the capabilities: VS Code's test
// client then ends its configuration by a request of adapters without configurationDone. Some clients send their next
// request only after the event.
const announceDelay = 50 * time.Millisecond

// announce sends the event that the adapter accepts a configuration, once.
func (a *adapter) announce() {
	if a.quiet != nil {
		a.quiet = nil
		a.sendEvent("initialized", nil)
	}
}

// configurationDone starts the session if there is a target.
func (a *adapter) configurationDone(context.Context, nothing) (*nothing, error) {
	a.ready = true
	a.addDeferred(a.begin)
	return nil, nil
}

// disconnect ends the session.
func (a *adapter) disconnect(context.Context, godap.DisconnectArguments) (*nothing, error) {
	a.ended = true
	return nil, nil
}

// answerCancel answers a cancel request, which took effect in adapter.enqueue.
func answerCancel(*adapter, context.Context, godap.CancelArguments) (*nothing, error) {
	return nil, nil
}

// notSet is the message of a breakpoint that is not set.
const notSet = "ompd-inspect looks at programs and does not stop them: a debugger sets breakpoints"

// unsetBreakpoints returns n breakpoints that are not set.
func unsetBreakpoints(n int) []godap.Breakpoint {
	list := make([]godap.Breakpoint, n)
	for i := range list {
		list[i].Message = notSet
	}
	return list
}

func setBreakpoints(
	_ *adapter, _ context.Context, args godap.SetBreakpointsArguments,
) (b godap.SetBreakpointsResponseBody, _ error) {
	b.Breakpoints = unsetBreakpoints(max(len(args.Breakpoints), len(args.Lines)))
	return b, nil
}

func setFunctionBreakpoints(
	_ *adapter, _ context.Context, args godap.SetFunctionBreakpointsArguments,
) (b godap.SetFunctionBreakpointsResponseBody, _ error) {
	b.Breakpoints = unsetBreakpoints(len(args.Breakpoints))
	return b, nil
}

// setExceptionBreakpoints accepts the request of editors that have no filters to set.
func setExceptionBreakpoints(*adapter, context.Context, nothing) (*nothing, error) {
	return nil, nil
}

func refuseStep(*adapter, context.Context, nothing) (*nothing, error) {
	return nil, errors.New("ompd-inspect looks at programs and does not step through them: a debugger does")
}

// handler answers the requests of one command.
type handler struct {
	needs  phase // phase that the client must have reached
	answer func(a *adapter, r *request) (any, error)
}

// emptyList is the JSON that some clients send for arguments without members.
const emptyList = "[]"

// newHandler returns a handler that calls a method with arguments of the protocol's types.
func newHandler[A, B any](needs phase, f func(*adapter, context.Context, A) (B, error)) handler {
	return handler{needs, func(a *adapter, r *request) (any, error) {
		var args A
		if len(r.Arguments) > 0 && string(r.Arguments) != emptyList {
			if err := decode(r.Arguments, &args); err != nil {
				return nil, fmt.Errorf("%s: its arguments: %w", r.Command, err)
			}
		}
		body, err := f(a, r.ctx, args)
		if _, none := any(body).(*nothing); none {
			return nil, err
		}
		return body, err
	}}
}

// maxDecoded bounds the memory of a message's decoded part, in bytes: an editor's largest take some kilobytes.
const maxDecoded = 64 << 20

// decode decodes a part of a client's message.
func decode(text []byte, into any) error {
	err := jsonx.Unmarshal(text, into, budget.NewLedger(maxDecoded), "the arguments")
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%q must be %s, not a JSON %s", wrong.Field, typeName(wrong.Type), wrong.Value)
	}
	return err
}

// typeName returns the JSON name of a type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return typeName(t.Elem())
	}
	return "a number"
}

// viewHandler returns a handler for a method that needs only the view of the last snapshot.
func viewHandler[A, B any](f func(*view, context.Context, A) (B, error)) handler {
	return newHandler(attach, func(a *adapter, ctx context.Context, args A) (B, error) { return f(a.view, ctx, args) })
}

// nothing is the type of ignored arguments. A nil *nothing is an answer without a body.
type nothing struct{}

// UnmarshalJSON accepts any arguments.
func (*nothing) UnmarshalJSON([]byte) error { return nil }
