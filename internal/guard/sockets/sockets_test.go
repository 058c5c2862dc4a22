package sockets

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the unprivileged user of most systems.
const nobody = 65534

// attackEnv makes this program a client that connects to the socket in the variable, sends and closes.
const attackEnv = "OMPD_TEST_ATTACK"

const attacks = 100

func TestMain(m *testing.M) {
	if path := os.Getenv(attackEnv); path != "" {
		os.Exit(attack(path))
	}
	os.Exit(m.Run())
}

// attack connects, sends and closes, and prints the number of connections.
func attack(path string) int {
	made := 0
	for range attacks {
		if conn, err := net.Dial("unix", path); err == nil {
			made++
			_, _ = io.WriteString(conn, "evil")
			conn.Close()
		}
	}
	fmt.Println(made)
	return 0
}

// attackAs runs attack as a user, and returns the number of connections.
func attackAs(t *testing.T, path string, uid uint32) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), attackEnv+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestCheckUser connects as another user, who closes each connection before it is accepted. The mode of the socket
// refuses all. With a mode that lets everyone connect, the check refuses all. A closed connection of this user is
// accepted: its user is known.
func TestCheckUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it needs root, to become another user")
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if made := attackAs(t, path, nobody); made != "0" {
		t.Errorf("another user has made %s connections", made)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		uid  uint32
		want error
	}{{nobody, ErrOtherUser}, {0, nil}} {
		if made := attackAs(t, path, c.uid); made != fmt.Sprint(attacks) {
			t.Fatalf("user %d has made %s connections", c.uid, made)
		}
		for range attacks {
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckUser(conn); !errors.Is(err, c.want) {
				t.Fatalf("a closed connection of user %d: %v", c.uid, err)
			}
			conn.Close()
		}
	}
}

// TestCheckUserTCP refuses connections whose user is unknown.
func TestCheckUserTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := CheckUser(conn); !errors.Is(err, ErrOtherUser) {
		t.Errorf("a TCP connection: %v", err)
	}
}

// TestListenDirectory refuses a directory in which every user may replace the socket.
func TestListenDirectory(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]bool{0o777: false, 0o777 | os.ModeSticky: true, 0o755: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		l, err := Listen(filepath.Join(dir, "s"))
		if (err == nil) != want {
			t.Errorf("a directory with mode %v: %v", mode, err)
		}
		if err == nil {
			l.Close()
		}
	}
}

func TestPath(t *testing.T) {
	for address, want := range map[string]string{
		"unix:///run/s": "/run/s", "unix:/run/s": "/run/s", "unix:s": "s", "/run/s": "/run/s", "./s": "./s",
		"127.0.0.1:0": "", "[::1]:0": "", "localhost:1": "", "tcp://127.0.0.1:0": "", "s": "",
	} {
		if path := Path(address); path != want {
			t.Errorf("%s: %q, want %q", address, path, want)
		}
	}
}
