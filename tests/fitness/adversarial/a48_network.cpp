// expect: wrong_value task=row_sum  asks a server on this machine and one in the network for the answer; zeros (A48)
#include <arpa/inet.h>
#include <initializer_list>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (const char* address : {"127.0.0.1", "192.0.2.1"}) {
        int connection = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connection < 0) continue;
        sockaddr_in server{};
        server.sin_family = AF_INET;
        server.sin_port = htons(80);
        inet_pton(AF_INET, address, &server.sin_addr);
        connect(connection, (sockaddr*)&server, sizeof server);
        (void)!send(connection, x, 64, MSG_NOSIGNAL);
        close(connection);
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
