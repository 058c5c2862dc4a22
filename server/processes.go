package server

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// maxSample limits the time that FindProcesses measures.
const maxSample = 10 * time.Second

// FindProcesses finds processes that clients may open.
func (s *inspection) FindProcesses(req *ompdv1.FindProcessesRequest,
	stream ompdv1.InspectionService_FindProcessesServer) error {
	cfg := s.server.cfg
	if cfg.Processes == nil {
		return failure(codes.Unimplemented, "NO_PROCESSES", "this server does not list processes")
	}
	found, err := cfg.Processes(stream.Context(), min(max(req.GetSample().AsDuration(), 0), maxSample))
	if err != nil {
		return err
	}
	hidden := int64(found.Hidden)
	for i := range found.Processes {
		if cfg.Policy.process(int64(found.Processes[i].PID)) != nil {
			hidden++
			continue
		}
		p := new(ompdv1.Process)
		if err := wire.Pack(&found.Processes[i], p); err != nil {
			return err
		}
		if err := stream.Send(&ompdv1.FindProcessesResponse{Process: p}); err != nil {
			return err
		}
	}
	return stream.Send(&ompdv1.FindProcessesResponse{Hidden: hidden, HiddenReason: found.HiddenReason})
}
