package dap

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	godap "github.com/google/go-dap"
)

// handlers are all requests that are known. Those that a client may send without having
// asked for what this adapter can do are answered, too: that breakpoints are not set, say.
var handlers = sync.OnceValue(func() map[string]handler {
	return map[string]handler{
		"initialize":              on(fresh, (*adapter).initialize),
		"attach":                  on(initialized, (*adapter).attach),
		"launch":                  on(initialized, (*adapter).launch),
		"terminate":               on(attached, (*adapter).terminate),
		"configurationDone":       on(initialized, (*adapter).configurationDone),
		"disconnect":              on(fresh, (*adapter).disconnect),
		"cancel":                  on(fresh, cancelled),
		"setBreakpoints":          on(initialized, setBreakpoints),
		"setFunctionBreakpoints":  on(initialized, setFunctionBreakpoints),
		"setExceptionBreakpoints": on(initialized, setExceptionBreakpoints),

		"threads":       shown((*view).threads),
		"stackTrace":    shown((*view).stackTrace),
		"scopes":        on(attached, (*adapter).scopes),
		"variables":     shown((*view).variables),
		"exceptionInfo": shown((*view).exceptionInfo),
		"evaluate":      on(attached, (*adapter).evaluate),
		"completions":   on(attached, (*adapter).completions),
		"loadedSources": shown((*view).loadedSources),
		"modules":       on(attached, (*adapter).modules),
		"readMemory":    on(attached, (*adapter).readMemory),
		"disassemble":   on(attached, (*adapter).disassemble),

		"pause":          on(attached, (*adapter).pause),
		"continue":       on(attached, (*adapter).goOn),
		requestLook:      on(attached, (*adapter).lookAgain),
		requestPicture:   shown((*view).picture),
		requestRegions:   shown((*view).regions),
		requestWaitGraph: shown((*view).waitGraph),

		"next":     on(attached, looksOnly),
		"stepIn":   on(attached, looksOnly),
		"stepOut":  on(attached, looksOnly),
		"stepBack": on(attached, looksOnly),
	}
})

// greeting is what a client says of itself.
type greeting struct {
	LinesStartAt1            bool `json:"linesStartAt1"`
	SupportsInvalidatedEvent bool `json:"supportsInvalidatedEvent"`
	SupportsVariableType     bool `json:"supportsVariableType"`
	SupportsMemoryReferences bool `json:"supportsMemoryReferences"`
}

// UnmarshalJSON gives what is not said its default.
func (g *greeting) UnmarshalJSON(b []byte) error {
	type plain greeting
	p := plain{LinesStartAt1: true}
	err := json.Unmarshal(b, &p)
	*g = greeting(p)
	return err
}

// initialize tells the client what this adapter can do.
func (a *adapter) initialize(_ context.Context, c greeting) (godap.Capabilities, error) {
	if a.phase != fresh {
		return godap.Capabilities{}, errors.New("initialize came before")
	}
	a.client, a.phase = c, initialized
	a.later(func() { a.tell("initialized", nil) })
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

// configurationDone begins the session, if there is a target by then.
func (a *adapter) configurationDone(context.Context, nothing) (*nothing, error) {
	a.ready = true
	a.later(a.begin)
	return nil, nil
}

// disconnect ends the session.
func (a *adapter) disconnect(context.Context, godap.DisconnectArguments) (*nothing, error) {
	a.ended = true
	return nil, nil
}

// cancelled answers a cancel, which was heeded when it came (adapter.wait).
func cancelled(*adapter, context.Context, godap.CancelArguments) (*nothing, error) {
	return nil, nil
}

// notSet is what is said of breakpoints.
const notSet = "ompd-inspect looks at programs and does not stop them: a debugger sets breakpoints"

// unset are breakpoints that are not set.
func unset(n int) []godap.Breakpoint {
	list := make([]godap.Breakpoint, n)
	for i := range list {
		list[i].Message = notSet
	}
	return list
}

func setBreakpoints(
	_ *adapter, _ context.Context, args godap.SetBreakpointsArguments,
) (b godap.SetBreakpointsResponseBody, _ error) {
	b.Breakpoints = unset(max(len(args.Breakpoints), len(args.Lines)))
	return b, nil
}

func setFunctionBreakpoints(
	_ *adapter, _ context.Context, args godap.SetFunctionBreakpointsArguments,
) (b godap.SetFunctionBreakpointsResponseBody, _ error) {
	b.Breakpoints = unset(len(args.Breakpoints))
	return b, nil
}

// setExceptionBreakpoints takes what an editor sends without filters: there are none.
func setExceptionBreakpoints(*adapter, context.Context, nothing) (*nothing, error) {
	return nil, nil
}

func looksOnly(*adapter, context.Context, nothing) (*nothing, error) {
	return nil, errors.New("ompd-inspect looks at programs and does not step through them: a debugger does")
}
