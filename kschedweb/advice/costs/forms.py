"""The forms beside the editor of prices: the edited version, and an uploaded file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.web.errors import ApplicationError, TooLarge

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile


class ExpectedForm(forms.Form):
    """The version that was edited."""

    version = forms.IntegerField(min_value=0, max_value=2**31 - 1)

    def expected_version(self, newest: int) -> int:
        return int(self.cleaned_data["version"]) if self.is_valid() else newest


def read_upload(file: UploadedFile | None) -> str:
    """Return the text of an uploaded table. Raise ``ApplicationError``."""
    if file is None:
        raise ApplicationError("Choose a file first.")
    if (file.size or 0) > SIZE_LIMIT:
        raise TooLarge("The file is larger than 1 MiB, which is the most that is taken.")
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ApplicationError("The file is not text in UTF-8.") from None
