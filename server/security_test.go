package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

func TestSocket(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(t.TempDir(), "run"))
	address := DefaultAddress()
	path := strings.TrimPrefix(address, "unix://")
	l, _, err := Listen(address, []int{ownUID()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %o", name, st.Mode(), err, want)
		}
	}
	if _, _, err := Listen(address, nil, nil); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
	// A socket left by a killed server is replaced.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, _, err = Listen(address, []int{ownUID()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Listen(address, nil, nil); err == nil || !strings.Contains(err.Error(), "a file of another kind") {
		t.Errorf("a file in the way: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	if a := DefaultAddress(); !strings.HasPrefix(a, "unix:///tmp/ompd-inspect-") {
		t.Errorf("default address %s", a)
	}
	for address, want := range map[string]string{
		"tcp://0.0.0.0:0": "--tls-cert", "tcp://": "missing port",
		"unix://s": "must be absolute", "/run/s": "unix:///path or tcp://host:port",
		"unix:///no/such/dir/s": "no such file",
	} {
		if _, _, err := Listen(address, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	dir := filepath.Join(os.TempDir(), "ompd-inspect-test-"+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if _, _, err := Listen("unix://"+dir+"/s", nil, nil); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("a directory below /tmp that others can enter: %v", err)
	}
}

// TestPeer refuses a user that may not connect.
func TestPeer(t *testing.T) {
	address := "unix://" + filepath.Join(t.TempDir(), "s")
	l, creds, err := Listen(address, []int{ownUID() + 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, Config{Open: openCore, Credentials: creds}, l)
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	_, err = c.ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
	codeOf(t, "another user", err, codes.Unavailable)
}

// bearer adds a token to calls, also over an unencrypted connection.
type bearer string

func (k bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(k)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

func TestToken(t *testing.T) {
	l, creds, err := Listen("tcp://127.0.0.1:0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, Config{Open: openCore, Credentials: creds, Token: "secret"}, l)
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	list := func(options ...grpc.DialOption) error {
		_, err := ompdv1.NewInspectionServiceClient(dial(t, l.Addr().String(), options...)).ListTargets(t.Context(),
			&ompdv1.ListTargetsRequest{})
		return err
	}
	codeOf(t, "no token", list(plain), codes.Unauthenticated)
	codeOf(t, "another token", list(plain, grpc.WithPerRPCCredentials(bearer("public"))), codes.Unauthenticated)
	codeOf(t, "the token", list(plain, grpc.WithPerRPCCredentials(bearer("secret"))), codes.OK)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "secret")
	_, err = ompdv1.NewOmpdServiceClient(dial(t, l.Addr().String(), plain)).GetApiVersion(ctx,
		&ompdv1.GetApiVersionRequest{})
	codeOf(t, "no Bearer", err, codes.Unauthenticated)
	stream, err := ompdv1.NewInspectionServiceClient(dial(t, l.Addr().String(), plain)).GetReport(t.Context(),
		&ompdv1.GetReportRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	codeOf(t, "a stream without token", err, codes.Unauthenticated)
}

// certificate makes a certificate, signed by parent or by itself.
func certificate(t *testing.T, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: parent == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signer, by := any(key), tmpl
	if parent != nil {
		signer, by = parent.PrivateKey, parent.Leaf
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, by, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestMutualTLS serves clients with a certificate, at an address for which a token alone is not enough.
func TestMutualTLS(t *testing.T) {
	ca := certificate(t, nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	own, stranger := certificate(t, ca), certificate(t, nil)
	secure := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{*certificate(t, ca)}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert})
	l, creds, err := Listen("tcp://0.0.0.0:0", nil, secure)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, Config{Open: openCore, Credentials: creds}, l)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for name, tt := range map[string]struct {
		certs []tls.Certificate
		want  codes.Code
	}{"ours": {[]tls.Certificate{*own}, codes.OK}, "a stranger's": {[]tls.Certificate{*stranger}, codes.Unavailable},
		"none": {nil, codes.Unavailable}} {
		conn := dial(t, "127.0.0.1:"+port,
			grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: tt.certs})))
		_, err := ompdv1.NewInspectionServiceClient(conn).ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
		codeOf(t, "certificate: "+name, err, tt.want)
	}
}
