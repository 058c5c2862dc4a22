package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// Domain is the domain of the google.rpc.ErrorInfo in errors.
const Domain = "ompd-inspect"

// rcCodes maps OMPD's return codes to gRPC codes. UNAVAILABLE is not used: it makes clients retry.
var rcCodes = map[callbacks.RC]codes.Code{
	callbacks.Unavailable:        codes.FailedPrecondition,
	callbacks.StaleHandle:        codes.NotFound,
	callbacks.BadInput:           codes.InvalidArgument,
	callbacks.Error:              codes.Internal,
	callbacks.Unsupported:        codes.Unimplemented,
	callbacks.NeedsStateTracking: codes.FailedPrecondition,
	callbacks.Incompatible:       codes.FailedPrecondition,
	callbacks.DeviceReadError:    codes.DataLoss,
	callbacks.DeviceWriteError:   codes.DataLoss,
	callbacks.NoMem:              codes.ResourceExhausted,
	callbacks.Incomplete:         codes.OutOfRange,
	callbacks.CallbackError:      codes.Aborted,
	callbacks.IncompatibleHandle: codes.InvalidArgument,
}

// causes maps system errors from opening a target to codes.
var causes = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{context.DeadlineExceeded, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
	{context.Canceled, codes.Canceled, "CANCELED"},
	{engine.ErrExited, codes.NotFound, "PROCESS_ENDED"},
	{fs.ErrNotExist, codes.NotFound, "NO_SUCH_FILE"},
	{fs.ErrPermission, codes.PermissionDenied, "NO_PERMISSION"},
	{contain.ErrCutShort, codes.DataLoss, "FILE_CUT_SHORT"},
}

// statusOf returns err as the status of a call.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var ready interface{ GRPCStatus() *status.Status }
	if errors.As(err, &ready) {
		return ready.GRPCStatus().Err()
	}
	if errors.As(err, new(*contain.Panic)) { // the log has the details
		return failure(codes.Internal, "PANIC", "a defect of ompd-inspect; the server's log has the details")
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return fail(c.code, c.reason, err.Error(), nil)
		}
	}
	return fail(codes.FailedPrecondition, "NOT_READABLE", err.Error(), nil)
}

// routineStatus returns the error of an OMPD routine as the status of a call, with its return code. Errors of the call,
// such as an unknown target, keep their reason.
func routineStatus(err error) error {
	var already interface{ GRPCStatus() *status.Status }
	var of *ompd.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &already) || errors.As(err, new(*contain.Panic)),
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return withRC(statusOf(err))
	}
	rc := ompd.RCOf(err)
	meta := rcMetadata(rc)
	if errors.As(err, &of) {
		meta["routine"] = of.Routine
		if of.Handle != nil {
			meta["handle"] = of.Handle.String()
		}
	}
	reason := strings.ToUpper(strings.TrimPrefix(rc.String(), "ompd_rc_"))
	return fail(rcCodes[rc], reason, err.Error(), meta)
}

// rcMetadata returns the metadata of an error with a return code.
func rcMetadata(rc callbacks.RC) map[string]string {
	return map[string]string{"ompd_rc": strconv.Itoa(int(rc)), "ompd_rc_name": rc.String()}
}

// withRC adds a return code to an error of a call: ompd_rc_bad_input for an unknown target, else ompd_rc_error.
func withRC(err error) error {
	s := status.Convert(err)
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetMetadata()["ompd_rc"] != "" {
			continue
		}
		rc := callbacks.Error
		if info.GetReason() == reasonNoTarget {
			rc = callbacks.BadInput
		}
		meta := rcMetadata(rc)
		maps.Copy(meta, info.GetMetadata())
		return fail(s.Code(), info.GetReason(), s.Message(), meta)
	}
	return err
}

// reasonNoTarget is the reason of the error for the name of an unknown target.
const reasonNoTarget = "TARGET_NOT_FOUND"

// failure returns an error of a call without an underlying error.
func failure(c codes.Code, reason, format string, args ...any) error {
	return fail(c, reason, fmt.Sprintf(format, args...), nil)
}

// fail returns the error of a call: a code, an ErrorInfo and a message for users.
func fail(c codes.Code, reason, message string, meta map[string]string) error {
	s, err := status.New(c, strings.ToValidUTF8(message, "\ufffd")).WithDetails(&errdetails.ErrorInfo{Reason: reason,
		Domain: Domain, Metadata: meta})
	if err != nil {
		return status.Error(c, message)
	}
	return s.Err()
}
