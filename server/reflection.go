package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// describer is gRPC's reflection service. gRPC's own builds descriptions anew from what
// the generated code has, for which it prepares when the process starts, whatever the
// command; this one sends them as they are compiled in.
type describer struct {
	reflectionv1.UnimplementedServerReflectionServer

	services func() map[string]grpc.ServiceInfo
}

// alphaReflection is the name that older clients ask for; the messages are the same.
const alphaReflection = "grpc.reflection.v1alpha.ServerReflection"

// describe lets a server say which services it has, and what their messages are.
func describe(s *grpc.Server) {
	d := &describer{services: s.GetServiceInfo}
	reflectionv1.RegisterServerReflectionServer(s, d)
	alpha := reflectionv1.ServerReflection_ServiceDesc
	alpha.ServiceName = alphaReflection
	s.RegisterService(&alpha, d)
}

// ServerReflectionInfo answers questions until the client has no more.
func (d *describer) ServerReflectionInfo(stream reflectionv1.ServerReflection_ServerReflectionInfoServer) error {
	sent := map[string]bool{} // a file is sent once
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		resp := &reflectionv1.ServerReflectionResponse{ValidHost: req.GetHost(), OriginalRequest: req}
		d.answer(req, resp, sent)
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// answer fills in the answer to one question. No message of ours has extensions.
func (d *describer) answer(req *reflectionv1.ServerReflectionRequest, resp *reflectionv1.ServerReflectionResponse,
	sent map[string]bool) {
	var f protoreflect.FileDescriptor
	var err error
	switch q := req.GetMessageRequest().(type) {
	case *reflectionv1.ServerReflectionRequest_ListServices:
		list := &reflectionv1.ListServiceResponse{}
		for _, name := range slices.Sorted(maps.Keys(d.services())) {
			list.Service = append(list.Service, &reflectionv1.ServiceResponse{Name: name})
		}
		resp.MessageResponse = &reflectionv1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
		return
	case *reflectionv1.ServerReflectionRequest_FileByFilename:
		f, err = protoregistry.GlobalFiles.FindFileByPath(q.FileByFilename)
	case *reflectionv1.ServerReflectionRequest_FileContainingSymbol:
		var found protoreflect.Descriptor
		found, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(q.FileContainingSymbol))
		if err == nil {
			f = found.ParentFile()
		}
	default:
		err = errors.New("no message has extensions")
	}
	var files [][]byte
	if err == nil {
		files, err = withImports(nil, f, sent)
	}
	if err != nil {
		resp.MessageResponse = &reflectionv1.ServerReflectionResponse_ErrorResponse{
			ErrorResponse: &reflectionv1.ErrorResponse{ErrorCode: int32(codes.NotFound), ErrorMessage: err.Error()},
		}
		return
	}
	resp.MessageResponse = &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
		FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: files},
	}
}

// withImports appends the descriptions of a file and of all that it imports, but for those
// that were sent.
func withImports(to [][]byte, f protoreflect.FileDescriptor, sent map[string]bool) (_ [][]byte, err error) {
	if sent[f.Path()] {
		return to, nil
	}
	b, err := compiled(f)
	if err != nil {
		return nil, fmt.Errorf("description of %s: %w", f.Path(), err)
	}
	sent[f.Path()] = true
	to = append(to, b)
	for i := range f.Imports().Len() {
		if to, err = withImports(to, f.Imports().Get(i).FileDescriptor, sent); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// compiled is the description of a file as it is compiled in. Each message has that of its
// file, compressed.
func compiled(f protoreflect.FileDescriptor) ([]byte, error) {
	if f.Messages().Len() == 0 {
		return nil, errors.New("the file has no message")
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(f.Messages().Get(0).FullName())
	if err != nil {
		return nil, err
	}
	m, ok := t.Zero().Interface().(interface{ Descriptor() ([]byte, []int) })
	if !ok {
		return nil, fmt.Errorf("%s does not have it", t.Descriptor().FullName())
	}
	b, _ := m.Descriptor()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
