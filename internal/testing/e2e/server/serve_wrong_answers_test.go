package server

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestWrongAnswers lends programs by debuggers that answer other questions than those that were asked. The stream ends
// at the first such answer, with the reason, and so does the client's call.
func TestWrongAnswers(t *testing.T) {
	address := e2e.Serve(t)
	for name, wrong := range map[string]struct {
		answers func(q *ompdv1.Questions) *ompdv1.Answers
		reason  string
	}{
		"unknown id": {func(q *ompdv1.Questions) *ompdv1.Answers {
			return &ompdv1.Answers{Id: q.GetId() + 7, Answers: refusals(q)}
		}, "UNKNOWN_ID"},
		"no id": {func(q *ompdv1.Questions) *ompdv1.Answers {
			return &ompdv1.Answers{Answers: refusals(q)}
		}, "UNKNOWN_ID"},
		"another kind": {func(q *ompdv1.Questions) *ompdv1.Answers {
			a := &ompdv1.Answers{Id: q.GetId()}
			for range q.GetQuestions() {
				a.Answers = append(a.Answers, &ompdv1.Answer{Answer: &ompdv1.Answer_Type{Type: &ompdv1.TypeAnswer{}}})
			}
			return a
		}, "WRONG_ANSWER"},
		"too few": {func(q *ompdv1.Questions) *ompdv1.Answers {
			return &ompdv1.Answers{Id: q.GetId()}
		}, "WRONG_ANSWER"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := client.Dial(address, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			stream, err := c.Debugger.Attach(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			hello := &ompdv1.Hello{About: &ompdv1.Target{Pid: 1, Kind: ompdv1.TargetKind_TARGET_KIND_PROCESS,
				Arch: callbacks.ArchX86_64.String()}}
			err = stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Hello{Hello: hello}})
			if err != nil {
				t.Fatal(err)
			}
			first, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			called := make(chan error, 1)
			go func() {
				request := &ompdv1.ListThreadsRequest{Target: first.GetTarget().GetName()}
				_, err := c.Inspection.ListThreads(t.Context(), request)
				called <- err
			}()
			asked, ended := 0, error(nil)
			for ended == nil {
				var m *ompdv1.AttachResponse
				if m, ended = stream.Recv(); ended == nil && m.GetQuestions() != nil {
					asked++
					a := &ompdv1.AttachRequest_Answers{Answers: wrong.answers(m.GetQuestions())}
					_ = stream.Send(&ompdv1.AttachRequest{Message: a}) // Recv has the reason of a failure
				}
			}
			var e *client.Error
			if status.Code(ended) != codes.InvalidArgument || !errors.As(client.Explain(ended), &e) ||
				e.Reason != wrong.reason {
				t.Errorf("the stream ends with %v, want the reason %s", ended, wrong.reason)
			}
			if asked != 1 {
				t.Errorf("%d questions, want 1", asked)
			}
			if err := <-called; status.Code(err) == codes.OK || status.Code(err) == codes.DeadlineExceeded {
				t.Errorf("the call ends with %v", err)
			}
		})
	}
}

// refusals returns an answer to each question that has no value.
func refusals(q *ompdv1.Questions) (out []*ompdv1.Answer) {
	for range q.GetQuestions() {
		e := &ompdv1.AnswerError{Code: ompdv1.AnswerCode_ANSWER_CODE_UNMAPPED}
		out = append(out, &ompdv1.Answer{Answer: &ompdv1.Answer_Error{Error: e}})
	}
	return out
}
