package server

import (
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// readMemory reads size bytes of a target.
func readMemory(mem callbacks.Memory, address uint64, size uint32) ([]byte, error) {
	data := make([]byte, size)
	err := mem.ReadMemory(callbacks.Addr(address), data)
	var fault *callbacks.FaultError
	switch {
	case err == nil:
		return data, nil
	case errors.As(err, &fault):
		return nil, fail(codes.DataLoss, "FAULT", err.Error(), map[string]string{"address": fault.Address.String()})
	}
	return nil, err
}
