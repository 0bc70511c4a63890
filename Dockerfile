# A machine for porting CANN programs: compilers, and openaclnn as the toolkit.
#   docker build -t openaclnn .
#   docker run --rm -v "$PWD:/work" -w /work openaclnn sh -c 'cmake -S . -B build && cmake --build build && build/my_program'
FROM debian:bookworm AS packages
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git
COPY . /openaclnn
WORKDIR /openaclnn
RUN ./dev package

FROM debian:bookworm-slim
COPY --from=packages /openaclnn/dist/*.deb /tmp/packages/
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ cmake make pkgconf /tmp/packages/*.deb \
 && rm -rf /var/lib/apt/lists/* /tmp/packages \
 && ln -s /usr/lib/*-linux-gnu/openaclnn/cann-compat /opt/cann-compat
ENV ASCEND_HOME_PATH=/opt/cann-compat ASCEND_TOOLKIT_HOME=/opt/cann-compat LD_LIBRARY_PATH=/opt/cann-compat/lib64
