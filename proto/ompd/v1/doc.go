// Package ompdv1 is the generated code of the API in the .proto files beside it:
// InspectionService, OmpdService, TraceService and DebuggerService.
//
// The messages of picture.proto are generated from package picture. api.txt lists every
// element of the API; what is listed there may not go away or change, which the generator
// holds.
package ompdv1

//go:generate go -C ../../../tools run ./contract -root ..
