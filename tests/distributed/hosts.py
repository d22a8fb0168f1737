"""Hosts for tests: network namespaces of this machine, with addresses and names of their own, joined
by a switch whose links may be slow, long or cut.

Nothing outside of the process that uses it is touched: it moves to a namespace of its own first, and
the hosts are below that one. The wires are TUN devices and the switch is a process that carries their
packets, so neither a bridge nor traffic control of the kernel is needed; everything above the wire,
TCP with its retransmissions included, is the kernel's.
"""

import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import signal
import socket
import struct
import subprocess
import time

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_REC_PRIVATE = 0x4000 | 0x40000
MNT_DETACH = 2
PR_SET_TIMERSLACK = 29
PR_SET_PDEATHSIG = 1

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
OFFLOAD_CHECKSUMS, OFFLOAD_SEGMENTS = 1, 2
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
IFF_UP = 1


class NoRights(Exception):
    """This machine does not let us make hosts."""


def check(result, what):
    if result != 0:
        raise NoRights(f"{what}: {os.strerror(ctypes.get_errno())}")


def enter_namespaces():
    """Moves this process to a network and mounts of its own. Throws NoRights."""
    uid, gid = os.getuid(), os.getgid()
    user = 0 if uid == 0 else CLONE_NEWUSER
    check(libc.unshare(user | CLONE_NEWNET | CLONE_NEWNS), "network namespaces")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    check(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "mounts of our own")
    configure(b"lo")
    if not os.path.exists("/dev/net/tun"):
        raise NoRights("/dev/net/tun is missing")
    network = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        make_host("10.77.0.254")
    except OSError as error:
        raise NoRights(f"TUN devices: {error}") from error
    finally:
        libc.setns(network, CLONE_NEWNET)
        os.close(network)


def configure(name, address=None):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, address and "255.255.255.0")):
            if value:
                packed = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value))
                fcntl.ioctl(control, request, packed)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, IFF_UP))


def make_host(address):
    """Moves this process to a new network, with one device. Returns the other end of its wire."""
    check(libc.unshare(CLONE_NEWNET), "network namespaces")
    wire = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    fcntl.ioctl(wire, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    # Packets of up to 64 KB cross the switch whole, as they cross the wires between virtual machines.
    fcntl.ioctl(wire, TUNSETOFFLOAD, OFFLOAD_CHECKSUMS | OFFLOAD_SEGMENTS)
    configure(b"lo")
    configure(b"eth0", address)
    return wire


@contextlib.contextmanager
def small_disk(folder, size):
    """Mounts a disk of so many bytes, for this process and those that it starts."""
    check(libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()), "a disk")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(folder), MNT_DETACH)


class Switch:
    """Carries packets between wires, each of which takes `delay` seconds and carries `rate` bits per
    second in either direction (None: any number)."""

    HEADER = 10  # of the TUN device, before that of IP

    def __init__(self, wires, delay, rate):
        self.wires, self.delay, self.seconds_per_byte = wires, delay, 8 / rate if rate else 0
        self.cut = set()
        self.sending = [0.0] * len(wires)  # until when the wire from a host is busy
        self.receiving = [0.0] * len(wires)
        self.under_way = []  # (when it arrives, order, host, packet)
        self.order = 0

    def take(self, source, now):
        with contextlib.suppress(BlockingIOError):
            packet = os.read(self.wires[source], 1 << 17)
            if packet[self.HEADER] >> 4 != 4:
                return
            to = packet[self.HEADER + 19] - 1
            if packet[self.HEADER + 16:self.HEADER + 19] != b"\x0a\x4d\x00" or to >= len(self.wires):
                return
            if source in self.cut or to in self.cut:
                return
            took = (len(packet) - self.HEADER) * self.seconds_per_byte
            self.sending[source] = max(now, self.sending[source]) + took
            self.receiving[to] = max(self.sending[source], self.receiving[to] + took)
            self.order += 1
            arrival = self.receiving[to] + self.delay
            heapq.heappush(self.under_way, (arrival, self.order, to, packet))

    def deliver(self, now):
        while self.under_way and self.under_way[0][0] <= now:
            _, _, to, packet = heapq.heappop(self.under_way)
            if to not in self.cut:
                with contextlib.suppress(OSError):
                    os.write(self.wires[to], packet)

    def run(self, control):
        libc.prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0)
        while True:
            now = time.monotonic()
            self.deliver(now)
            # What a busy wire cannot take stays with the host, as with a real device.
            free = [host for host, until in enumerate(self.sending) if until <= now]
            times = [until for until in self.sending if until > now]
            times += [self.under_way[0][0]] if self.under_way else []
            timeout = max(0.0, min(times) - now) if times else None
            ready, _, _ = select.select([control] + [self.wires[host] for host in free], [], [], timeout)
            now = time.monotonic()
            for host in free:
                if self.wires[host] in ready:
                    self.take(host, now)
            if control in ready:
                words = control.recv(64).split()
                if not words:
                    return
                (self.cut.add if words[0] == b"cut" else self.cut.discard)(int(words[1]))
                control.send(b"done")


class Hosts:
    """REQUIRES: enter_namespaces. Host i is called host<i> and has the address 10.77.0.<i + 1>."""

    def __init__(self, count, delay=0.0, rate=None):
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.networks, wires = [], []
        for host in range(count):
            wires.append(make_host(self.address(host)))
            self.networks.append(os.open("/proc/self/ns/net", os.O_RDONLY))
            check(libc.setns(own, CLONE_NEWNET), "the way back")
        os.close(own)
        self.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.switch = os.fork()
        if self.switch == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            self.control.close()
            try:
                Switch(wires, delay, rate).run(other)
            finally:
                os._exit(0)
        other.close()
        for wire in wires:
            os.close(wire)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.control.close()
        os.waitpid(self.switch, 0)
        for network in self.networks:
            os.close(network)

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    def start(self, host, words, **options):
        def move():
            check(libc.setns(self.networks[host], CLONE_NEWNET), "a host")
            check(libc.unshare(CLONE_NEWUTS), "a name")
            socket.sethostname(f"host{host}")
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        return subprocess.Popen(words, preexec_fn=move, **options)

    @contextlib.contextmanager
    def on(self, host):
        """Lets this process open sockets of that host."""
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(libc.setns(self.networks[host], CLONE_NEWNET), "a host")
        try:
            yield
        finally:
            check(libc.setns(own, CLONE_NEWNET), "the way back")
            os.close(own)

    def tell(self, word, host):
        self.control.send(f"{word} {host}".encode())
        self.control.recv(16)

    def cut(self, host):
        """From now on no packet reaches the host or leaves it."""
        self.tell("cut", host)

    def mend(self, host):
        self.tell("mend", host)
