"""The image, built once; a container of it in a network of its own, as the compose file would run it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.container.support.buildah import Buildah, Container, Image
from tests.container.support.compose import read_compose, why_no_yaml
from tests.container.support.debian_base import base_archive
from tests.container.support.layout import CACHE, DOCKER, ROOT
from tests.container.support.network import Network
from tests.container.support.pip_settings import pip_volumes

_TOOLS: Final = ("buildah", "debootstrap", "tar", "unshare", "nsenter", "ip")


@pytest.fixture(scope="session", autouse=True)
def _what_it_needs() -> None:
    if os.geteuid() != 0:
        pytest.skip("building and running an image without a daemon needs root")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    no_yaml = why_no_yaml()
    if no_yaml is not None:
        missing.append(no_yaml)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="session")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    storage = tmp_path_factory.mktemp("storage")
    yield Buildah(storage)
    shutil.rmtree(storage)


@pytest.fixture(scope="session")
def image(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> Image:
    work = tmp_path_factory.mktemp("build")
    base = buildah.import_base(base_archive(CACHE, work), "localhost/python")
    # No compiler: what it makes is tried by every other test, and this is how shareq runs without.
    arguments = {"PYTHON_IMAGE": base, "BUILD_PACKAGES": ""}
    return buildah.build(
        ROOT, DOCKER / "Dockerfile", "localhost/shareq", arguments=arguments, volumes=pip_volumes(work)
    )


@pytest.fixture(scope="session")
def service() -> dict[str, object]:
    services: dict[str, dict[str, object]] = read_compose(DOCKER / "compose.yaml")["services"]
    return services["shareq"]


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with Network(["shareq"], tmp_path_factory.mktemp("network")) as network:
        yield network


@pytest.fixture
def data(tmp_path: Path, image: Image) -> Path:
    """Return a data volume that belongs to the image's user, as a volume of Docker's own does."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, image.uid, image.uid)
    return folder


@pytest.fixture(scope="session")
def _container(buildah: Buildah, image: Image, network: Network) -> Iterator[Container]:
    container = Container(buildah, image, network)
    yield container
    container.remove()


@pytest.fixture
def container(_container: Container, data: Path, service: dict[str, Any]) -> Iterator[Container]:
    """Return a container with the settings of the compose file; not started yet.

    Between tests only the volume changes.
    """
    environment: dict[str, str] = service["environment"]
    _container.options = [
        *(f"--env={name}={text}" for name, text in environment.items()),
        f"--volume={data}:/var/lib/shareq",
        f"--volume={DOCKER / 'server.properties'}:/etc/shareq/server.properties:ro",
        "--cap-drop=all",
    ]
    yield _container
    _container.kill()
