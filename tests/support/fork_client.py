"""What a test starts in place of Python: gives its streams to the fork server, passes signals on, ends as told.

Run with -I -S, and with as few imports as possible: it must start in hundredths of a second.
"""

import _socket
import os
import signal
import sys
from array import array
from marshal import dumps


def main() -> None:
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(sys.argv[1])
    # Before anything is asked for: a signal that comes early waits in the socket.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda caught, frame: server.send(bytes([caught])))
    request = dumps((sys.argv[2:], dict(os.environ), os.getcwd(), _ignored()))
    streams = array("i", [0, 1, 2])
    server.sendmsg([len(request).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    server.sendall(request)
    # The program holds them now; whoever waits for their end must not wait for this process.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    answer = server.recv(4)
    status = int.from_bytes(answer, "big") if len(answer) == 4 else 255 << 8
    if os.WIFSIGNALED(status):
        cause = os.WTERMSIG(status)
        if cause != signal.SIGKILL:
            signal.signal(cause, signal.SIG_DFL)
        os.kill(os.getpid(), cause)
        signal.pause()
    os._exit(os.waitstatus_to_exitcode(status))


def _ignored() -> list[int]:
    return [int(number) for number in (signal.SIGHUP, signal.SIGINT) if signal.getsignal(number) == signal.SIG_IGN]


main()
