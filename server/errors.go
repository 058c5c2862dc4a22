package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
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

// routineStatus returns the error of an OMPD routine as the status of a call, with its return code.
func routineStatus(err error) error {
	var already interface{ GRPCStatus() *status.Status }
	var of *ompd.Error
	switch {
	case err == nil || errors.As(err, &already) || errors.As(err, new(*contain.Panic)):
		return statusOf(err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return statusOf(err)
	}
	rc := ompd.RCOf(err)
	meta := map[string]string{"ompd_rc": strconv.Itoa(int(rc)), "ompd_rc_name": rc.String()}
	if errors.As(err, &of) {
		meta["routine"] = of.Routine
		if of.Handle != nil {
			meta["handle"] = of.Handle.String()
		}
	}
	reason := strings.ToUpper(strings.TrimPrefix(rc.String(), "ompd_rc_"))
	return fail(rcCodes[rc], reason, err.Error(), meta)
}

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
